"""The records of a comparison. Everything is said of ``b`` against ``a``: the later, or the changed one, against the
first."""

from __future__ import annotations

from typing import Final, Literal

from kprof.evidence import Record, Side

COMPARISON_VERSION: Final = 1
Value = float | int | str | bool
Outcome = Literal["same", "within_noise", "better", "worse", "changed", "unknown"]
"""``changed``: neither way is an improvement. ``unknown``: one side is null, or both are."""
VerdictCode = Literal["faster", "slower", "within_noise", "no_time", "not_comparable", "wrong_result", "implausible"]


class Subject(Record, frozen=True, kw_only=True):
    """One of the two reports."""

    file: str
    created: str
    source: str
    kernel_file: str | None
    kernel_sha256: str | None
    entry: str | None
    ref_file: str | None
    report_file: str | None
    """Of an import: the report of ncu's."""
    device_name: str | None
    device: str
    spec: str | None
    precision_passed: bool | None
    launches: int


class Difference(Record, frozen=True, kw_only=True):
    """Something beside the kernel in which the two runs are not alike."""

    name: str
    a: str
    b: str
    bars_verdict: bool
    """Times of runs that differ in this say nothing of the kernels."""


class MetricChange(Record, frozen=True, kw_only=True):
    """One number, or one word, of both reports."""

    path: str
    """In the report, below ``blocks``; of a kernel, below its entry."""
    label: str
    unit: str
    """Of the registry; ``kprof schema`` says what the field means."""
    better: Literal["lower", "higher"] | None
    a: Value | None
    b: Value | None
    change_pct: float | None
    """Of ``a``; null: one is null, no number, or ``a`` is 0. Of percentages too: a share of a share."""
    interval_pct: tuple[float, float] | None
    """Of ``change_pct``, where samples give one."""
    noise_pct: float | None
    """A change within this is no change; 0: the number repeats exactly; null: the interval says."""
    outcome: Outcome
    reason_a: str | None
    """Code for a null ``a``."""
    reason_b: str | None


class Explanation(Record, frozen=True, kw_only=True):
    """One sentence of why."""

    code: str
    """Stable, snake_case."""
    text: str
    paths: tuple[str, ...]
    """The metrics that it is made of."""


class KernelGroup(Record, frozen=True, kw_only=True):
    """Launches of one kernel with one grid and block, in one report."""

    name: str
    side: Side | None
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    launches: int
    ids: tuple[int, ...]
    """Positions in ``kernels`` of the report, the first 100."""
    total_us: float | None
    """Sum of their durations; null: one is not known."""
    dram_bytes: float | None
    bound: str | None
    """Limiter or family of the longest of them."""


class KernelMatch(Record, frozen=True, kw_only=True):
    """A kernel that both reports have."""

    matched_by: Literal["configuration", "name"]
    """``configuration``: name, grid and block; ``name``: the name alone."""
    a: KernelGroup
    b: KernelGroup
    changes: tuple[MetricChange, ...]


class Verdict(Record, frozen=True, kw_only=True):
    """Is ``b`` faster?"""

    code: VerdictCode
    text: str
    speedup: float | None
    """Time of ``a`` over time of ``b``; null: not comparable, or no time."""
    speedup_interval: tuple[float, float] | None
    confidence: float | None
    """Of the interval."""
    doubts: tuple[str, ...]
    """What to know before believing it."""


class Comparison(Record, frozen=True, kw_only=True):
    """Two reports, compared. Null: not known, or not to be said of these two."""

    comparison_version: int = COMPARISON_VERSION
    kprof_version: str
    a: Subject
    b: Subject
    comparable: bool
    """No difference bars a verdict."""
    forced: bool
    """A verdict was asked for all the same."""
    differences: tuple[Difference, ...]
    verdict: Verdict
    explanations: tuple[Explanation, ...]
    changes: tuple[MetricChange, ...]
    matched: tuple[KernelMatch, ...]
    added: tuple[KernelGroup, ...]
    """Only in ``b``, most time first."""
    removed: tuple[KernelGroup, ...]
    """Only in ``a``."""
