"""The evidence that Nsight Compute leaves: metrics of kernel launches as it reported them, in base units.

Nothing is judged here. Times are ns, sizes bytes, rates a second, frequencies hz, as ``ncu --print-units base`` has
them; a metric that the tool could not give is not in ``metrics`` but in ``absent``, with why.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from kprof.evidence import Reason, Record, Side

COUNTER_BLOCKS: Final = ("sol", "roofline", "occupancy", "caches", "stalls", "bottleneck")
"""The blocks of a report that counters fill."""
SAMPLED_CALLS: Final = 3
"""Further calls for samples of warp states: a kernel of 2 us gave 114 to 160 a call on an H200, and 200 are needed."""
CounterFormat = Literal["ncu_report", "ncu_csv_raw", "ncu_csv_details"]
MetricAbsence = Literal["not_available", "not_a_number", "infinite", "blank", "unparsable", "unknown_unit"]
"""Why one metric has no value: ncu said ``n/a``; ``nan``; ``inf``; nothing; no number; a unit that nobody knows."""


class ProfiledLaunch(Record, frozen=True, kw_only=True):
    """One kernel launch with its metrics."""

    launch_id: int
    """ncu's own ID: the position in launch order within its report."""
    process_id: int | None = None
    device: int | None = None
    """Index of the device within its process."""
    side: Side | None = None
    """Whose call launched it; None: nobody told (an imported report)."""
    samples_only: bool = False
    """Launched by a further call, which was made for more samples of warp states."""
    name: str
    """Demangled, in full."""
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    compute_capability: str | None = None
    metrics: dict[str, float | str] = msgspec.field(default_factory=dict)
    """By ncu's name. Text where the metric is text (the board's name); numbers in base units."""
    absent: dict[str, MetricAbsence] = msgspec.field(default_factory=dict)
    """Metrics that stand in the report without a value."""


class CounterRun(Record, frozen=True, kw_only=True):
    """One run of ncu: what it was for and what it cost."""

    purpose: Literal["default", "full", "tensor"]
    metrics_asked: int
    seconds: float
    launches: int
    passes: int | None
    """Most passes of one launch, from ``profiler__replayer_passes`` or the tool's log."""
    command: tuple[str, ...] = ()


class CountersEvidence(Record, frozen=True, kw_only=True):
    """What Nsight Compute measured of both sides, or what a report that existed already holds."""

    format: CounterFormat
    launches: tuple[ProfiledLaunch, ...] = ()
    ncu_version: str | None = None
    clock_control: str | None = None
    """As given to ncu; None: an imported report does not say."""
    cache_control: str | None = None
    replay_mode: str | None = None
    launch_limit: int | None = None
    """Launches of a side that were profiled at most."""
    runs: tuple[CounterRun, ...] = ()
    side_absent: dict[Side, Reason] = msgspec.field(default_factory=dict)
    """Why a side has no launches here."""
    report_file: str | None = None
    """Where the report was kept, or the file it was imported from."""
    report_sha256: str | None = None
    warnings: tuple[Reason, ...] = ()
