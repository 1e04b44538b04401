"""Evidence made by hand: the numbers are those of real runs, the samples are spread round them by a fixed pattern."""

from __future__ import annotations

from typing import Any

import msgspec

from kprof.evidence import (
    Cache,
    ClockGroup,
    ClockReading,
    Environment,
    Series,
    TensorInfo,
    Timer,
    Workload,
)
from kprof.launches_evidence import Launch
from kprof.precision_evidence import Mismatch, PrecisionEvidence, PrecisionTrial, Tolerance

EVENT_BIAS_US = 1.28


def spread(center: float, count: int = 101, width: float = 0.01) -> tuple[float, ...]:
    """``count`` samples from ``center * (1 - width)`` to ``center * (1 + width)``, shuffled the same way always.

    Their median is ``center`` exactly for an odd count.
    """
    half = count // 2
    return tuple(center * (1 + width * (((index * 37) % count) - half) / max(half, 1)) for index in range(count))


def workload(**changes: Any) -> Workload:
    plain = Workload(
        kernel_file="kernels/logsumexp/cuda_naive.py",
        kernel_sha256="a" * 64,
        ref_file="kernels/logsumexp/ref.py",
        ref_sha256="b" * 64,
        entry="ModelNew",
        kind="cuda",
        seed=0,
        inputs=(TensorInfo(path="[0]", shape=(4, 10, 32), dtype="float32", constant=False),),
    )
    return msgspec.structs.replace(plain, **changes)


CLOCK = ClockReading(sm_mhz=1980, memory_mhz=3201, power_w=120.0, power_limit_w=700.0, throttle_reasons=())
CPU = Environment(device="cpu", device_name="Xeon", cpu_threads=2, torch="2.11.0", command=("kprof", "analyze"))
H200 = Environment(
    device="cuda:0",
    device_name="NVIDIA H200",
    compute_capability="9.0",
    sm_count=132,
    l2_bytes=60 * 1024 * 1024,
    driver="580.82",
    cuda="13.0",
    torch="2.11.0",
    clocks_before=CLOCK,
    clocks_after=CLOCK,
    command=("kprof", "analyze"),
)


def trial(seed: int = 1, **changes: Any) -> PrecisionTrial:
    """A trial in which all 320 elements agree."""
    plain = PrecisionTrial(
        seed=seed,
        shapes=((4, 10, 32),),
        tolerances=(Tolerance(where="out", dtype="float32", atol=1.2e-5, rtol=1e-5, scale=2.1),),
        elements=320,
        mismatched_elements=0,
        max_abs_error=4.77e-7,
        mean_abs_error=1e-7,
        max_rel_error=2e-7,
        mean_rel_error=5e-8,
        worst_output="out",
        worst_index=(3, 7),
        worst_kernel_value=2.5,
        worst_ref_value=2.5000005,
        deterministic=True,
    )
    return msgspec.structs.replace(plain, **changes)


def wrong_trial(seed: int = 1, **changes: Any) -> PrecisionTrial:
    wrong: dict[str, Any] = {
        "mismatches": (Mismatch(code="values", where="out", message="12 of 320 elements out of tolerance"),),
        "mismatched_elements": 12,
        "max_abs_error": 0.5,
        "mean_abs_error": 0.01,
        "max_rel_error": 0.2,
        "mean_rel_error": 0.004,
        "worst_kernel_value": 2.0,
        "worst_ref_value": 2.5,
    }
    return trial(seed, **{**wrong, **changes})


def precision(*trials: PrecisionTrial, **changes: Any) -> PrecisionEvidence:
    ran = trials or tuple(trial(seed) for seed in range(1, 6))
    plain = PrecisionEvidence(
        trials=ran,
        trials_requested=len(ran),
        weights="none",
        kernel_error_vs_fp64=3e-7,
        ref_error_vs_fp64=2e-7,
        poisoned="allocator",
    )
    return msgspec.structs.replace(plain, **changes)


def series(timer: Timer, cache: Cache, kernel: float | None, ref: float | None, **changes: Any) -> Series:
    """One series with medians ``kernel`` and ``ref``."""
    kernel_us, ref_us = spread(kernel) if kernel else (), spread(ref) if ref else ()
    plain = Series(
        timer=timer,
        cache=cache,
        kernel_us=kernel_us,
        ref_us=ref_us,
        kernel_count=len(kernel_us),
        ref_count=len(ref_us),
        queue_kept_full=True if timer in ("cupti", "event") else None,
        bias_us=EVENT_BIAS_US if timer == "event" else None,
        resolution_us={"cupti": 0.032, "host": 0.05, "host_stream": 0.05}.get(timer),
    )
    return msgspec.structs.replace(plain, **changes)


def clock_group(timer: Timer, cache: Cache, reading: ClockReading = CLOCK, dropped: bool = False) -> ClockGroup:
    return ClockGroup(timer=timer, cache=cache, before=reading, after=reading, dropped=dropped)


def kernel_launch(name: str, start_us: float, duration_us: float, **changes: Any) -> Launch:
    plain = Launch(
        kind="kernel",
        name=name,
        stream=7,
        start_us=start_us,
        duration_us=duration_us,
        grid=(2, 1, 1),
        block=(256, 1, 1),
    )
    return msgspec.structs.replace(plain, **changes)


NAIVE = "void (anonymous namespace)::logsumexp_kernel<float>(float const*, float*, int, int)"
