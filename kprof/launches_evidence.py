"""The evidence of what a call launches on the device, as torch's profiler saw it."""

from __future__ import annotations

from typing import Literal

from kprof.evidence import Reason, Record, Series
from kprof.precision_evidence import Mismatch


class Launch(Record, frozen=True, kw_only=True):
    """One piece of device work, as the profiler saw it."""

    kind: Literal["kernel", "memcpy", "memset"]
    name: str
    stream: int | None
    start_us: float
    """Since the start of the call on the host."""
    duration_us: float
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    registers_per_thread: int | None = None
    shared_bytes: int | None = None
    """Shared memory of a block, static and dynamic together."""
    correlation: int | None = None
    graph: bool = False
    """Launched by the replay of a CUDA graph."""


class SideLaunches(Record, frozen=True, kw_only=True):
    """One call under the profiler."""

    launches: tuple[Launch, ...] = ()
    host_launches: int | None = None
    """Calls of a launch interface on the host; the replay of a graph is one."""
    operator_calls: int | None = None
    """Outermost torch operators called."""
    host_us: float | None = None
    """From the start of the call on the host to its end after a synchronise, profiler running."""
    absent: Reason | None = None
    """Why there are no launches here, where there are none."""
    warnings: tuple[Reason, ...] = ()


class LaunchesEvidence(Record, frozen=True, kw_only=True):
    kernel: SideLaunches | None = None
    ref: SideLaunches | None = None
    series: tuple[Series, ...] = ()
    """Device spans (first kernel start to last kernel end, all streams) that the same process measured."""
    kernel_off_current_stream: bool | None = None
    output_mismatches: tuple[Mismatch, ...] | None = None
    """How a result under the profiler differs from the reference's, for values that the kernel saw nowhere else in this
    process; None: not compared."""
    warnings: tuple[Reason, ...] = ()
