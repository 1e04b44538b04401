"""What ``kprof doctor`` says of what was found: machines that work, and each way in which one does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kprof.collectors.ncu_run.tool import NcuTool
from kprof.doctor.boards import Board, Boards
from kprof.doctor.builders import Builders
from kprof.doctor.diagnosis import CHECKS, judge
from kprof.doctor.facts import Facts, device_index
from kprof.doctor.profiling import Profiling
from kprof.doctor.records import Check
from kprof.evidence import ClockReading, Reason
from kprof.installation import Installation, TorchDevice
from kprof.own_worker import OwnAnswer
from kprof.subprocesses.asking import Answer

DEVICE = TorchDevice(
    name="NVIDIA H200", uuid="GPU-1", compute_capability="9.0", sm_count=132, memory_bytes=150_109_880_320
)
TORCH = Installation(
    torch="2.11.0+cu130",
    cuda="13.0",
    architectures=("sm_80", "sm_90", "compute_90"),
    triton="3.6.0",
    threads=16,
    nvcc="/usr/local/cuda/bin/nvcc",
    nvcc_version="Build cuda_13.0.r13.0/compiler.36424714_0",
    devices=(DEVICE,),
    profiled_kernels=1,
)
CLOCKS = ClockReading(
    sm_mhz=1980, memory_mhz=3201, power_w=120.0, power_limit_w=700.0, temperature_c=35, throttle_reasons=()
)
BOARD = Board(
    name="NVIDIA H200",
    uuid="GPU-1",
    compute_capability="9.0",
    memory_bytes=150_754_820_096,
    memory_used_bytes=500_000_000,
    busy_pct=0,
    max_sm_mhz=1980,
    clocks=CLOCKS,
    processes=(),
)
BOARDS = Boards(driver="580.95", driver_cuda="13.0", boards=(BOARD,))
TOOL = NcuTool(path=Path("/opt/ncu"), banner="Version 2025.3.1.0", version="2025.3.1.0", chips=("ga100", "gh100"))
BUILDERS = Builders("c++", "/usr/bin/c++", "c++ 13", Answer(0, ""), Path("/bin/ninja"), Answer(0, "1.13"))
NO_NVML = Boards(error="NVML Shared Library Not Found")


def h200(tmp_path: Path, **changes: Any) -> Facts:
    """A machine on which everything works."""
    found = Facts("auto", tmp_path, BOARDS, OwnAnswer(TORCH), Profiling(tool=TOOL, duration_us=1.2), BUILDERS)
    return replace(found, **changes)


def with_torch(tmp_path: Path, **changes: Any) -> Facts:
    return h200(tmp_path, torch=OwnAnswer(msgspec.structs.replace(TORCH, **changes)))


def with_board(tmp_path: Path, **changes: Any) -> Facts:
    board = msgspec.structs.replace(BOARD, **changes)
    return h200(tmp_path, boards=msgspec.structs.replace(BOARDS, boards=(board,)))


def laptop(tmp_path: Path, **changes: Any) -> Facts:
    """A machine without a GPU, whose torch is for the CPU."""
    torch = Installation(torch="2.13.0+cpu", threads=8, no_devices="this build of torch is for the CPU")
    absent = Reason(code="ncu_not_found", message="there is no ncu on PATH", hint="Install it.")
    return replace(Facts("auto", tmp_path, NO_NVML, OwnAnswer(torch), Profiling(absent=absent), BUILDERS), **changes)


def check(facts: Facts, name: str) -> Check:
    return next(one for one in judge(facts).checks if one.name == name)


def test_a_machine_with_a_gpu_on_which_everything_works(tmp_path: Path) -> None:
    found = judge(h200(tmp_path))
    assert [(one.name, one.state) for one in found.checks if one.state != "ok"] == []
    assert (found.ready, found.device) == (True, "cuda:0")
    assert len(found.checks) == len(CHECKS)


def test_without_a_gpu_the_main_job_runs_on_the_cpu(tmp_path: Path) -> None:
    found = judge(laptop(tmp_path))
    assert (found.ready, found.device) == (True, "cpu")
    states = {one.name: one.state for one in found.checks}
    assert {name for name, state in states.items() if state == "skipped"} == {
        "driver", "torch_cuda", "nvcc", "ncu", "counter_permission", "counter_profile", "cupti", "nvml", "spec",
        "clocks", "other_users",
    }  # fmt: skip
    assert "there is no NVIDIA GPU here" in check(laptop(tmp_path), "driver").found


def test_a_gpu_can_be_left_out(tmp_path: Path) -> None:
    found = judge(h200(tmp_path, asked="cpu"))
    assert (found.ready, found.device) == (True, "cpu")
    assert check(h200(tmp_path, asked="cpu"), "torch_cuda").found == "the device is the CPU"


def test_every_check_says_why_and_a_failed_one_how_to_mend_it(tmp_path: Path) -> None:
    absent = Reason(code="ncu_not_found", message="there is no ncu on PATH", hint="Install it.")
    failed = OwnAnswer(failed=Reason(code="x", message="y", hint="z"))
    broken = Facts("cuda:0", tmp_path, NO_NVML, failed, Profiling(absent=absent), Builders("c++"))
    for facts in (h200(tmp_path), laptop(tmp_path), broken):
        for one in judge(facts).checks:
            assert one.found
            assert one.why
            assert "\n" not in one.found + one.why + one.hint
            assert one.hint or one.state in ("ok", "skipped", "warn")
            assert one.hint or one.state != "fail"


@pytest.mark.parametrize(
    ("change", "name", "state", "part"),
    [
        ({"cuda": None, "devices": (), "no_devices": "a build for the CPU"}, "torch_cuda", "fail", "CPU"),
        ({"devices": (), "no_devices": "CUDA driver version is insufficient"}, "torch_cuda", "fail", "insufficient"),
        ({"architectures": ("sm_100", "sm_120")}, "torch_cuda", "fail", "torch has code for sm_100, sm_120"),
        ({"architectures": ("sm_80", "compute_80")}, "torch_cuda", "ok", "NVIDIA H200"),
        ({"architectures": ("sm_90a",)}, "torch_cuda", "ok", "NVIDIA H200"),
        ({"architectures": ()}, "torch_cuda", "ok", "NVIDIA H200"),
        ({"nvcc": None, "nvcc_version": None}, "nvcc", "fail", "no nvcc"),
        ({"nvcc_version": None}, "nvcc", "fail", "does not run"),
        ({"nvcc_version": "Build cuda_12.4.r12.4/compiler.1_0"}, "nvcc", "fail", "cuda_12.4"),
        ({"profiled_kernels": 0}, "cupti", "fail", "saw no kernel"),
        ({"profiled_kernels": None}, "cupti", "fail", "not tried"),
        (
            {"profiled_kernels": None, "profiler_absent": Reason(code="x", message="CUPTI_ERROR_X")},
            "cupti", "fail", "CUPTI_ERROR_X",
        ),
        ({"devices": (msgspec.structs.replace(DEVICE, name="NVIDIA H20"),)}, "spec", "fail", "H20"),
        ({"torch": "2.3.1"}, "torch", "warn", "2.3.1"),
    ],
)  # fmt: skip
def test_what_torch_can_lack(change: dict[str, Any], name: str, state: str, part: str, tmp_path: Path) -> None:
    found = check(with_torch(tmp_path, **change), name)
    assert found.state == state
    assert part in found.found


@pytest.mark.parametrize(
    ("change", "name", "state", "part"),
    [
        ({"clocks": None}, "nvml", "warn", "no clocks"),
        ({"uuid": "GPU-2"}, "nvml", "fail", "does not know the board"),
        ({"processes": (4242,)}, "other_users", "warn", "4242"),
        ({"busy_pct": 97}, "other_users", "warn", "97 % busy"),
        ({"mig": True}, "other_users", "warn", "MIG"),
        ({"memory_used_bytes": None, "busy_pct": None}, "other_users", "ok", "does not say"),
        (
            {"clocks": msgspec.structs.replace(CLOCKS, throttle_reasons=("hw_thermal_slowdown",))},
            "clocks", "warn", "hw_thermal_slowdown",
        ),
        (
            {"clocks": msgspec.structs.replace(CLOCKS, throttle_reasons=("applications_clocks_setting",))},
            "clocks", "warn", "clocks are set",
        ),
    ],
)  # fmt: skip
def test_what_a_board_can_be_in(change: dict[str, Any], name: str, state: str, part: str, tmp_path: Path) -> None:
    found = check(with_board(tmp_path, **change), name)
    assert found.state == state
    assert part in found.found


def test_warnings_leave_the_main_job_whole_and_failures_do_not(tmp_path: Path) -> None:
    assert judge(with_board(tmp_path, processes=(1,))).ready
    assert not judge(with_torch(tmp_path, profiled_kernels=0)).ready


PERMISSION = Reason(code="counters_permission", message="RmProfilingAdminOnly: 1", hint="On the host: ...")


@pytest.mark.parametrize(
    ("profiling", "states"),
    [
        (Profiling(absent=Reason(code="ncu_not_found", message="no ncu", hint="h")), ("fail", "ok", "skipped")),
        (Profiling(tool=replace(TOOL, banner="", version=None)), ("fail", "ok", "skipped")),
        (Profiling(tool=replace(TOOL, chips=("ga100",)), duration_us=1.0), ("fail", "ok", "ok")),
        (Profiling(tool=replace(TOOL, chips=()), duration_us=1.0), ("ok", "ok", "ok")),
        (Profiling(tool=TOOL, permission=PERMISSION, refused=PERMISSION), ("ok", "fail", "fail")),
        (Profiling(tool=TOOL, refused=PERMISSION), ("ok", "ok", "fail")),
    ],
)
def test_counters_and_each_way_they_are_missing(profiling: Profiling, states: tuple[str, ...], tmp_path: Path) -> None:
    facts = h200(tmp_path, profiling=profiling)
    assert tuple(check(facts, name).state for name in ("ncu", "counter_permission", "counter_profile")) == states


def test_a_torch_that_does_not_start_is_named_and_the_rest_still_looked_at(tmp_path: Path) -> None:
    failed = Reason(code="exited", message="ImportError: libcudart.so.13", hint="...")
    found = judge(h200(tmp_path, torch=OwnAnswer(failed=failed)))
    states = {one.name: one.state for one in found.checks}
    assert (states["torch"], states["driver"], states["counter_profile"]) == ("fail", "ok", "ok")
    assert "libcudart" in next(one for one in found.checks if one.name == "torch").found


def test_a_profiler_that_took_its_process_along_is_named(tmp_path: Path) -> None:
    torch = msgspec.structs.replace(TORCH, profiled_kernels=None)
    answer = OwnAnswer(torch, failed=Reason(code="crashed", message="the worker died of SIGSEGV", hint=""))
    found = check(h200(tmp_path, torch=answer), "cupti")
    assert (found.state, "SIGSEGV" in found.found) == ("fail", True)


def test_a_driver_that_hangs(tmp_path: Path) -> None:
    facts = h200(tmp_path, boards=Boards(error="NVML did not answer within 8 s: the driver hangs"))
    assert check(facts, "driver").state == "fail"
    assert "hangs" in check(facts, "driver").found


def test_hidden_devices_are_the_first_thing_to_look_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    found = check(with_torch(tmp_path, devices=(), no_devices="No CUDA GPUs are available"), "torch_cuda")
    assert found.hint.startswith("CUDA_VISIBLE_DEVICES is ''")


def test_another_device_than_there_is(tmp_path: Path) -> None:
    found = check(h200(tmp_path, asked="cuda:3"), "torch_cuda")
    assert (found.state, found.found) == ("fail", "--device cuda:3: torch has 1 device")


@pytest.mark.parametrize(("asked", "index"), [("auto", 0), ("cuda", 0), ("cuda:2", 2), ("cpu", None)])
def test_which_device_is_meant(asked: str, index: int | None) -> None:
    assert device_index(asked) == index
