"""From how ncu ended to one code a cause. Texts are ncu's own: recorded on an H200, or from its users' logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kprof.collectors.ncu_run.failures import ToolRun, failure
from kprof.collectors.ncu_run.tool import NcuTool
from kprof.collectors.ncu_run.tool_log import logged_launches, most_passes, own_lines
from kprof.evidence import Fault, Side

TOOL = NcuTool(Path("ncu"), "banner", "2025.3.1.0", ("ga100", "gh100"))
CONNECTED = "==PROF== Connected to process 9 (/x/python)\n"
PERMISSION = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the "
    "target device 0. For instructions on enabling permissions and to get more information see "
    "https://developer.nvidia.com/ERR_NVGPUCTRPERM\n"
)
UNSUPPORTED = (
    "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer --list-chips option.\n"
    "==WARNING== No kernels were profiled.\n"
)
DRIVER = (
    "==ERROR== Cuda driver is not compatible with Nsight Compute.\n"
    "==ERROR== The application returned an error code (11).\n"
)
NO_KERNELS = "==WARNING== No kernels were profiled.\n"
BUSY = (
    "==ERROR== An error was reported by the driver:\n"
    "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) is "
    "concurrently collecting profiling data. See https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#faq "
    "for more details.\n"
    '==ERROR== Failed to profile "k" in process 9\n==ERROR== The application returned an error code (9).\n'
)
LOCK = (
    "==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that this process has write "
    'permissions on this file.\n==ERROR== Failed to profile "k" in process 9\n'
    "==ERROR== The application returned an error code (9).\n"
)
WSL = (
    "==ERROR== Profiling is not supported on device 0 as it uses the Windows Subsystem for Linux (WSL).\n" + NO_KERNELS
)
PREPARE = (
    "==ERROR== Failed to prepare kernel for profiling\n==ERROR== Unknown Error on device 0.\n"
    '==ERROR== Failed to profile "eccWalkKernel" in process 62\n==ERROR== The application returned an error code (9).\n'
)
NO_PROGRAM = (
    "==ERROR== '/x/python' does not exist or is not an executable. Please make sure to specify the absolute path\n"
)
# Recorded on an H200 with Nsight Compute 2025.3.1.
DEVICE_FAULT = """==PROF== Connected to process 4286 (/tmp/probe)
==PROF== Profiling "fma_fp32" - 0: 0%....50%....100% - 1 pass
==PROF== Profiling "logsumexp_kernel" - 1: 0%....50%....100% - 9 passes

==ERROR== An error was reported by the driver:
==ERROR== LaunchFailed
==PROF== Trying to shutdown target application
==ERROR== The application returned an error code (9).
==PROF== Report: /tmp/y4.ncu-rep
"""


def ended(log: str, status: int | None = 0, **more: object) -> ToolRun:
    return replace(ToolRun(TOOL, status, log, "", report_written=False), **more)  # type: ignore[arg-type]


CASES = [
    (CONNECTED + PERMISSION, 1, "counters_permission"),
    (CONNECTED + PERMISSION, 0, "counters_permission"),
    (UNSUPPORTED, 0, "ncu_unsupported_chip"),
    (DRIVER, 11, "ncu_driver_mismatch"),
    (NO_KERNELS, 0, "ncu_no_kernels"),
    ('"ID","Process ID","Kernel Name","Metric Name"\n', 0, "ncu_empty_report"),
    (BUSY, 9, "counters_busy"),
    (LOCK, 9, "ncu_lock"),
    (WSL, 0, "wsl"),
    ("==ERROR== Profiling is not supported on MIG devices that share units\n", 1, "mig"),
    ("==ERROR== Profiling is not possible under MPS\n", 1, "mps"),
    (PREPARE, 9, "ncu_failed"),
    (NO_PROGRAM, 1, "ncu_failed"),
    ("==ERROR== The application returned an error code (9).\n==ERROR== Failed to write the report.\n", 9, "ncu_failed"),
    ("", -11, "ncu_failed"),
    ("", 127, "ncu_failed"),
]


@pytest.mark.parametrize("where", ["log", "output"])
@pytest.mark.parametrize(("text", "status", "code"), CASES)
def test_each_cause_has_its_code_and_a_hint(text: str, status: int, code: str, where: str) -> None:
    run = ended(text, status) if where == "log" else ended("", status, output="loss 0.1\n" + text)
    found = failure(run)
    assert found is not None
    assert (found.code, found.stage, found.side) == (code, "counters", None)
    assert found.hint
    assert len(found.message.splitlines()) == 1
    for line in text.splitlines():
        assert line in found.detail, "the tool's own lines are kept"


def test_what_the_program_prints_is_none_of_the_tools_errors() -> None:
    printed = "my log: ERR_NVGPUCTRPERM, MIG, DCGM, lock file, driver is not compatible\n"
    run = ended("==PROF== Disconnected from process 9\n", 0, output=printed, report_written=True)
    assert failure(run) is None


def test_a_warning_beside_a_report_is_no_failure() -> None:
    log = "==WARNING== Backing up device memory in system memory (no MIG).\n"
    assert failure(ended(log, report_written=True)) is None


def test_the_hint_for_a_chip_names_the_version_and_what_it_knows() -> None:
    found = failure(ended(UNSUPPORTED))
    assert found is not None
    assert "2025.3.1.0 has: ga100, gh100" in found.hint


def test_no_kernels_with_a_filter_points_at_the_filter() -> None:
    found = failure(ended(NO_KERNELS, filtered=True))
    assert found is not None
    assert "--kernel" in found.hint


@pytest.mark.parametrize("side", ["kernel", "ref", None])
def test_a_fault_on_the_device_is_the_sides_whose_code_ran(side: Side | None) -> None:
    found = failure(ended(DEVICE_FAULT, 9, side=side, report_written=True))
    assert found is not None
    assert (found.code, found.side) == ("cuda_error", side)
    assert "LaunchFailed" in found.message


@pytest.mark.parametrize(
    ("code", "expected"), [(11, "crashed"), (6, "crashed"), (9, "crashed"), (7, "exited"), (1, "exited")]
)
def test_a_program_that_ended_by_itself_is_the_sides(code: int, expected: str) -> None:
    log = (
        f"{CONNECTED}==PROF== Disconnected from process 9\n==ERROR== The application returned an error code ({code}).\n"
    )
    found = failure(ended(log, code, side="kernel"))
    assert found is not None
    assert (found.code, found.side) == (expected, "kernel")


TOLD = Fault(stage="counters", side="kernel", code="raised", message="the kernel raised")


def test_what_the_worker_told_stands_unless_ncu_could_not_profile() -> None:
    log = "==ERROR== The application returned an error code (3).\n"
    assert failure(ended(log, 3), TOLD) == TOLD
    found = failure(ended(DRIVER, 11), TOLD)
    assert found is not None
    assert found.code == "ncu_driver_mismatch"


HANG = '==PROF== Profiling "gemm" - 0: 0%....50%....100% - 9 passes\n==PROF== Profiling "spin "x"" - 1: 0%'


@pytest.mark.parametrize(
    ("log", "named"),
    [
        (HANG, 'it was profiling "spin "x"" (launch 1)'),
        (HANG.splitlines()[0], 'the last kernel that it had profiled was "gemm" (launch 0)'),
        (CONNECTED, "no kernel had been profiled yet"),
    ],
)
def test_a_hang_names_the_last_kernel(log: str, named: str) -> None:
    found = failure(ended(log, None, expired_after_s=30.0), TOLD)
    assert found is not None
    assert found.code == "ncu_timeout"
    assert found.message == f"ncu took more than 30 s and was ended; {named}"


def test_the_log_tells_launches_and_passes() -> None:
    assert [(one.name, one.position, one.passes) for one in logged_launches(DEVICE_FAULT)] == [
        ("fma_fp32", 0, 1), ("logsumexp_kernel", 1, 9),
    ]  # fmt: skip
    assert most_passes(DEVICE_FAULT) == 9
    assert most_passes(CONNECTED) is None


def test_own_lines_are_kept_once_each_and_the_last_of_them() -> None:
    many = "".join(f"==PROF== line {i}\n" for i in range(100))
    assert own_lines(CONNECTED + "noise\n", CONNECTED) == CONNECTED.strip()
    assert own_lines(many).splitlines()[-1] == "==PROF== line 99"
    assert len(own_lines(many).splitlines()) == 40
