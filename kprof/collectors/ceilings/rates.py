"""From the times of samples to a measured ceiling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import Final

from kprof.ceilings_evidence import MeasuredCeiling, Name, Unit

LEAST_SAMPLES: Final = 3


def rate_of(
    name: Name,
    unit: Unit,
    amount: float,
    seconds: Sequence[float],
    method: str,
    *,
    footprint_bytes: int | None = None,
    sm_clock_mhz: int | None = None,
) -> MeasuredCeiling:
    """A rate: ``amount`` of bytes or FLOP in each of the times."""
    return MeasuredCeiling(
        name=name,
        unit=unit,
        median=amount / median(seconds),
        worst=amount / max(seconds),
        best=amount / min(seconds),
        samples=len(seconds),
        footprint_bytes=footprint_bytes,
        sm_clock_mhz=sm_clock_mhz,
        method=method,
    )


def time_of(name: Name, us: Sequence[float], method: str, *, sm_clock_mhz: int | None = None) -> MeasuredCeiling:
    """A time."""
    return MeasuredCeiling(
        name=name,
        unit="us",
        median=median(us),
        worst=max(us),
        best=min(us),
        samples=len(us),
        sm_clock_mhz=sm_clock_mhz,
        method=method,
    )


def host_seconds(call: Callable[[], object], *, least_s: float, budget_s: float, most: int = 200) -> list[float]:
    """Seconds of one call, from as many samples as the budget has room for.

    Args:
        call: what is timed; it is called twice before.
        least_s: calls are put together to samples of at least this length.
        budget_s: for all samples; `LEAST_SAMPLES` are taken whatever they cost.
        most: samples at most.
    """
    call()
    began = perf_counter()
    call()
    once = max(perf_counter() - began, 1e-7)
    calls = max(1, round(least_s / once))
    samples: list[float] = []
    ends = perf_counter() + budget_s
    while len(samples) < LEAST_SAMPLES or (perf_counter() < ends and len(samples) < most):
        began = perf_counter()
        for _ in range(calls):
            call()
        samples.append((perf_counter() - began) / calls)
    return samples
