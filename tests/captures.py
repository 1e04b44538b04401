"""Captures made by hand: whole runs of every kind, those that failed among them."""

from __future__ import annotations

from typing import Any

import msgspec
from made_evidence import CPU, H200, NAIVE, clock_group, kernel_launch, precision, series, trial, workload, wrong_trial

from kprof.capture import Capture
from kprof.evidence import (
    BuildEvidence,
    Cache,
    Fault,
    MemoryEvidence,
    Reason,
    Series,
    SideBuild,
    SideMemory,
    Timer,
    TimingEvidence,
)
from kprof.launches_evidence import Launch, LaunchesEvidence, SideLaunches
from kprof.precision_evidence import Mismatch
from kprof.report import BLOCK_NAMES

NO_DEVICE = Reason(code="no_device", message="on the CPU nothing is launched on a device")


def tiny_launches() -> LaunchesEvidence:
    """One kernel against nine of torch's, one of which runs twice, and a fill; spans by CUPTI."""
    names = ["reduce", "eq", "where", "sub", "exp", "sum", "log", "add"]
    ref = [kernel_launch(f"void at::native::{name}_kernel<4>(int)", 12.0 * i, 1.5) for i, name in enumerate(names)]
    ref.append(kernel_launch("void at::native::exp_kernel<4>(int)", 96.0, 2.0))
    ref.append(Launch(kind="memset", name="Memset (Device)", stream=7, start_us=108.0, duration_us=1.0))
    return LaunchesEvidence(
        kernel=SideLaunches(
            launches=(kernel_launch(NAIVE, 5.0, 1.6),), host_launches=1, operator_calls=0, host_us=40.0
        ),
        ref=SideLaunches(launches=tuple(ref), host_launches=9, operator_calls=1, host_us=150.0),
        series=(series("cupti", "cold", 1.6, 17.6), series("cupti", "warm", 1.18, 14.4)),
    )


def tiny_timing() -> TimingEvidence:
    """The tiny logsumexp on an H200: 1.2 us on the device, 28 us to a host that waits."""
    timers: tuple[tuple[Timer, Cache, float, float], ...] = (
        ("event", "cold", 5.0, 19.6),
        ("event", "warm", 3.39, 16.2),
        ("host", "cold", 30.0, 140.0),
        ("host", "warm", 28.0, 130.0),
        ("host_stream", "warm", 12.0, 100.0),
        ("graph", "warm", 1.24, 14.2),
    )
    return TimingEvidence(
        series=tuple(series(*one) for one in timers),
        absent={"host_stream.cold": Reason(code="warm_only", message="many calls in a row warm the caches")},
        kernel_off_current_stream=False,
        flush_bytes=120 * 1024 * 1024,
        clock_groups=tuple(clock_group(timer, cache) for timer, cache, _, _ in timers),
    )


def built(cached: bool = False) -> BuildEvidence:
    side = SideBuild(extensions=("logsumexp",), seconds=65.0, cached=cached, arch="sm_90", log_tail="[2/2] c++ ok")
    nothing = SideBuild(extensions=(), seconds=0.0, cached=False, arch=None, log_tail="")
    return BuildEvidence(kernel=side, ref=nothing)


def h200_tiny(**changes: Any) -> Capture:
    plain = Capture(
        kprof_version="0.1.0",
        created="2026-12-01T15:00:00Z",
        requested=BLOCK_NAMES,
        workload=workload(),
        environment=H200,
        build=built(),
        precision=precision(),
        timing=tiny_timing(),
        memory=MemoryEvidence(
            method="torch_cuda_allocator",
            kernel=SideMemory(peak_bytes=1536, device_delta_bytes=0),
            ref=SideMemory(peak_bytes=12288, device_delta_bytes=0),
        ),
        launches=tiny_launches(),
    )
    return msgspec.structs.replace(plain, **changes)


def h200_large(**changes: Any) -> Capture:
    """131,072 blocks: events read 235.6 us, the graph 231.2, CUPTI, which slows such a kernel, 245.2."""
    grid = (131072, 1, 1)
    launches = LaunchesEvidence(
        kernel=SideLaunches(launches=(kernel_launch(NAIVE, 5.0, 245.2, grid=grid),), host_launches=1),
        ref=SideLaunches(launches=(kernel_launch("softmax", 5.0, 940.0, grid=grid),), host_launches=1),
        series=(series("cupti", "cold", 245.2, 940.0), series("cupti", "warm", 245.2, 938.0)),
    )
    timing = TimingEvidence(
        series=(
            series("event", "cold", 235.6, 921.28),
            series("event", "warm", 235.6, 920.0),
            series("graph", "warm", 231.2, 915.0),
        ),
        kernel_off_current_stream=False,
        clock_groups=(clock_group("event", "cold"),),
    )
    return h200_tiny(timing=timing, launches=launches, **changes)


def cpu_run(**changes: Any) -> Capture:
    """A C++ kernel on a CPU: 20 us by the host's clock, the reference 90."""
    absent = {
        **dict.fromkeys(("event", "graph", "cupti", "host_stream"), NO_DEVICE),
        "host.cold": Reason(code="not_measured", message="on the CPU calls are timed with warm caches only"),
    }
    launches = LaunchesEvidence(
        kernel=SideLaunches(operator_calls=1, host_us=30.0, absent=NO_DEVICE),
        ref=SideLaunches(operator_calls=7, host_us=120.0, absent=NO_DEVICE),
    )
    plain = h200_tiny(
        workload=workload(kernel_file="kernels/logsumexp/cpu.py", kind="cpp"),
        environment=CPU,
        timing=TimingEvidence(series=(series("host", "warm", 20.0, 90.0),), absent=absent),
        memory=MemoryEvidence(
            method="torch_cpu_allocator", kernel=SideMemory(peak_bytes=1280), ref=SideMemory(peak_bytes=5120)
        ),
        launches=launches,
    )
    return msgspec.structs.replace(plain, **changes)


def without_ref(capture: Capture) -> Capture:
    """The same run without a reference."""
    timing, launches, memory = capture.timing, capture.launches, capture.memory
    assert timing is not None
    assert launches is not None
    assert memory is not None
    return msgspec.structs.replace(
        capture,
        workload=msgspec.structs.replace(capture.workload, ref_file=None, ref_sha256=None),
        precision=None,
        build=msgspec.structs.replace(capture.build, ref=None) if capture.build else None,
        timing=msgspec.structs.replace(timing, series=_kernel_only(timing.series)),
        launches=msgspec.structs.replace(launches, ref=None, series=_kernel_only(launches.series)),
        memory=msgspec.structs.replace(memory, ref=None),
    )


def _kernel_only(all_series: tuple[Series, ...]) -> tuple[Series, ...]:
    return tuple(msgspec.structs.replace(one, ref_us=(), ref_count=0) for one in all_series)


def wrong_kernel() -> Capture:
    return h200_tiny(precision=precision(wrong_trial(1), trial(2), wrong_trial(3, max_rel_error=0.3)))


def nan_outputs() -> Capture:
    nan = Mismatch(code="nan_equals_nan", where="out", message="NaN at the same 320 places on both sides")
    nothing: dict[str, Any] = dict.fromkeys(
        ("max_abs_error", "mean_abs_error", "max_rel_error", "mean_rel_error", "worst_output", "worst_index")
    )
    values = {"worst_kernel_value": None, "worst_ref_value": None, "nonfinite_elements": 320}
    return h200_tiny(precision=precision(*(trial(seed, mismatches=(nan,), **nothing, **values) for seed in (1, 2))))


def build_failure() -> Capture:
    fault = Fault(
        stage="build",
        side="kernel",
        code="build_failed",
        message="nvcc: error: expected a ';'",
        hint="Mend the source; the log's tail is in the block build.",
        detail="cuda.cu(12): error: expected a ';'\n1 error detected",
    )
    return h200_tiny(faults=(fault,), build=None, precision=None, timing=None, memory=None, launches=None)


def precision_crash() -> Capture:
    fault = Fault(
        stage="precision",
        side="kernel",
        code="crashed",
        message="the worker ended by SIGSEGV",
        hint="Run the kernel under compute-sanitizer.",
    )
    return h200_tiny(faults=(fault,), precision=precision(trial(1), trial(2), trials_requested=5))


def timing_hang() -> Capture:
    """The kernel hangs once the cold events are taken; nothing else was timed."""
    fault = Fault(stage="timing", side="kernel", code="timeout", message="no answer for 60 s", hint="Raise --timeout.")
    partial = msgspec.structs.replace(tiny_timing(), series=(series("event", "cold", 5.0, 19.6),), absent={})
    return h200_tiny(faults=(fault,), timing=partial, launches=None)


def ref_failure() -> Capture:
    fault = Fault(stage="precision", side="ref", code="raised", message="RuntimeError: no such op")
    return h200_tiny(faults=(fault,), precision=None)


ALL = {
    "cpu": cpu_run,
    "cpu_without_ref": lambda: without_ref(cpu_run()),
    "tiny": h200_tiny,
    "large": h200_large,
    "without_ref": lambda: without_ref(h200_tiny()),
    "wrong": wrong_kernel,
    "nan": nan_outputs,
    "build_failure": build_failure,
    "precision_crash": precision_crash,
    "timing_hang": timing_hang,
    "ref_failure": ref_failure,
    "only_build": lambda: h200_tiny(requested=("build",)),
    "no_evidence": lambda: h200_tiny(build=None, precision=None, timing=None, memory=None, launches=None),
}
"""Every kind of run, by name."""
