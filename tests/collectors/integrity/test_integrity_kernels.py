"""Kernels that cheat and honest ones, through the worker's own run: the first are flagged, the others are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import integrity_runs
import pytest
from integrity_runs import Kernel, kernels, run

from kprof.report import Report, exit_code


@pytest.fixture(scope="session")
def extensions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("extensions")


def cases(folder: str, *, gpu: bool = False) -> list[object]:
    found = kernels(folder, gpu=gpu)
    marks = {True: [pytest.mark.compiles], False: []}
    return [pytest.param(kernel, id=kernel.name, marks=marks[kernel.compiles]) for kernel in found]


def flags(report: Report, severity: str | None = None) -> set[str]:
    checks = report.blocks.integrity.checks or ()
    return {check.name for check in checks if check.passed is False and severity in (None, check.severity)}


def require_caught(kernel: Kernel, report: Report) -> None:
    """One of its flags is up, and one that fails costs the times their trust and the run its exit code 0."""
    if kernel.flags:
        assert flags(report) & kernel.flags
    if kernel.wrong:
        assert report.blocks.precision.passed is False
    if flags(report, "fail"):
        assert report.blocks.integrity.passed is False
        assert exit_code(report) in (1, 3)
        timing = report.blocks.timing
        assert timing.kernel_us is None or (timing.status, timing.reason and timing.reason.code) == (
            "suspect",
            "integrity_failed",
        )


@pytest.mark.parametrize("kernel", cases("cheats"))
def test_a_kernel_that_cheats_is_flagged(kernel: Kernel, extensions: Path) -> None:
    require_caught(kernel, run(kernel.path, kernel.ref, extensions, profile=kernel.profiled))


@pytest.mark.parametrize("kernel", cases("honest"))
def test_an_honest_kernel_is_not(kernel: Kernel, extensions: Path) -> None:
    report = run(kernel.path, kernel.ref, extensions)
    assert report.faults == ()
    assert report.blocks.precision.passed is True
    assert flags(report) == set()
    assert report.blocks.integrity.passed is True
    assert report.blocks.integrity.judged
    assert report.blocks.timing.speedup is not None


@pytest.mark.parametrize("name", ["parameters", "plain", "counts_calls", "global_generator"])
def test_an_honest_kernel_is_right_under_the_profiler_too(name: str, extensions: Path) -> None:
    (kernel,) = (one for one in kernels("honest") if one.name == name)
    report = run(kernel.path, kernel.ref, extensions, profile=True)
    found = {check.name: check.passed for check in report.blocks.integrity.checks or ()}
    assert found["wrong_when_profiled"] is True


def test_processes_that_fork_nothing_find_the_same(extensions: Path) -> None:
    """As kernels for a GPU are run: CUDA does not outlive a fork."""
    (kernel,) = (one for one in kernels("cheats") if one.name == "cached_by_pointer")
    report = run(kernel.path, kernel.ref, extensions, fresh=True)
    require_caught(kernel, report)
    assert report.faults == ()


def test_there_are_enough_of_both() -> None:
    assert len(kernels("honest")) + len(kernels("honest", gpu=True)) >= 40
    assert len(kernels("cheats")) + len(kernels("cheats", gpu=True)) >= 60
    assert all(kernel.flags or kernel.wrong for kernel in kernels("cheats"))


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", cases("cheats", gpu=True))
def test_a_kernel_that_cheats_on_a_gpu_is_flagged(kernel: Kernel, extensions: Path) -> None:
    require_caught(kernel, run(kernel.path, kernel.ref, extensions, device="cuda:0", profile=True))


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", cases("honest", gpu=True))
def test_an_honest_kernel_on_a_gpu_is_not(kernel: Kernel, extensions: Path) -> None:
    report = run(kernel.path, kernel.ref, extensions, device="cuda:0", profile=True)
    assert report.faults == ()
    assert flags(report, "fail") == set()
    assert report.blocks.integrity.passed is True


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), ([], 2)])
def test_the_table_runs_nothing_before_a_device_is_named(arguments: list[str], code: int) -> None:
    table = Path(integrity_runs.__file__).with_name("integrity_table.py")
    done = subprocess.run([sys.executable, table, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "usage: integrity_table.py" in done.stdout + done.stderr) == (code, True)
