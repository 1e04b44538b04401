"""The profile of one kernel, by fakes of ncu that end in each way a real one does; and the kernel itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fake_ncu import fake_ncu
from ncu_data import DATA

from kprof.collectors import one_kernel
from kprof.doctor import profiling
from kprof.doctor.boards import Boards, ask_boards
from kprof.doctor.profiling import look_at_profiling
from kprof.subprocesses.asking import Answer


def look(folder: Path, body: str, index: int | None = 0) -> profiling.Profiling:
    return look_at_profiling(str(fake_ncu(folder / "bin", body)), folder / "cache", index)


def test_a_kernel_that_was_profiled(tmp_path: Path) -> None:
    found = look(tmp_path, f'cp {DATA}/probes.ncu-rep "$report"\n')
    assert found.refused is None
    assert found.duration_us is not None
    assert found.duration_us > 0
    assert found.tool is not None
    assert found.tool.version == "2025.3.1.0"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ('echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"', "counters_permission"),
        (
            'echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission" > "$log"; exit 1',
            "counters_permission",
        ),
        ('echo "==ERROR== Profiling is not supported on device 0."', "ncu_unsupported_chip"),
        ('echo "==WARNING== No kernels were profiled."', "ncu_no_kernels"),
        ("exit 0", "ncu_empty_report"),
        ('echo "==ERROR== Cuda driver is not compatible with Nsight Compute."; exit 1', "ncu_driver_mismatch"),
        ('echo broken > "$report"', "ncu_unreadable_report"),
    ],
)
def test_each_way_it_fails_has_its_own_code(body: str, code: str, tmp_path: Path) -> None:
    found = look(tmp_path, body)
    assert found.duration_us is None
    assert found.refused is not None
    assert found.refused.code == code


def test_one_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "PROFILE_S", 0.5)
    found = look(tmp_path, "sleep 60")
    assert found.refused is not None
    assert found.refused.code == "ncu_timeout"


def test_without_a_device_nothing_is_profiled(tmp_path: Path) -> None:
    found = look(tmp_path, "exit 1", index=None)
    assert (found.duration_us, found.refused) == (None, None)
    assert found.tool is not None


def test_without_ncu(tmp_path: Path) -> None:
    found = look_at_profiling("/no/such/ncu", tmp_path, 0)
    assert found.absent is not None
    assert found.absent.code == "ncu_not_found"


def test_without_a_driver_the_kernel_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kprof.collectors.one_kernel", "0"], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        pytest.skip("there is a driver here, and it launched the kernel")
    assert done.returncode in (one_kernel.NO_DRIVER, one_kernel._FAILED)
    assert len(done.stderr.splitlines()) == 1


def test_the_process_that_asks_nvml_always_answers() -> None:
    found = ask_boards()
    assert found.boards or found.error


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (None, "did not answer"),
        (Answer(None, ""), "the driver hangs"),
        (Answer(-11, ""), "ended with status -11"),
        (Answer(0, "no JSON"), "ended with status 0"),
    ],
)
def test_a_broken_nvml_is_told(answer: Answer | None, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kprof.doctor.boards.ask_program", lambda *_: answer)
    found = ask_boards()
    assert isinstance(found, Boards)
    assert found.error is not None
    assert part in found.error
