"""The records of a comparison. Everything is said of ``b`` against ``a``: the later, or the changed one, against the
first."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from kprof.evidence import Record, Side

COMPARISON_VERSION: Final = 1
Value = float | int | str | bool
Outcome = Literal["same", "within_noise", "better", "worse", "changed", "unknown"]
"""``changed``: neither way is an improvement, or the two are not comparable. ``unknown``: one side is null."""
VerdictCode = Literal[
    "faster", "slower", "within_noise", "no_time", "not_comparable", "wrong_result", "implausible", "untrusted"
]


def _told(description: str) -> msgspec.Meta:
    """What the schema says of a field."""
    return msgspec.Meta(description=description)


class Subject(Record, frozen=True, kw_only=True):
    """One of the two reports."""

    file: str
    created: str
    source: str
    kernel_file: str | None
    kernel_sha256: str | None
    entry: str | None
    ref_file: str | None
    report_file: Annotated[str | None, _told("Of an import: the report of ncu's.")]
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
    bars_verdict: Annotated[bool, _told("Times of runs that differ in this say nothing of the kernels.")]


class MetricChange(Record, frozen=True, kw_only=True):
    """One number, or one word, of both reports."""

    path: Annotated[str, _told("In the report, below ``blocks``; of a kernel, below its entry.")]
    label: str
    unit: Annotated[str, _told("Of the registry; ``kprof schema`` says what the field means.")]
    better: Literal["lower", "higher"] | None
    a: Value | None
    b: Value | None
    change_pct: Annotated[
        float | None,
        _told("Of ``a``; null: one is null, no number, or ``a`` is 0. Of percentages too: a share of a share."),
    ]
    interval_pct: Annotated[tuple[float, float] | None, _told("Of ``change_pct``, where samples give one.")]
    noise_pct: Annotated[
        float | None,
        _told("A change within this is no change; 0: the number repeats exactly; null: the interval says."),
    ]
    outcome: Outcome
    reason_a: Annotated[str | None, _told("Code for a null ``a``.")]
    reason_b: str | None


class Explanation(Record, frozen=True, kw_only=True):
    """One sentence of why."""

    code: Annotated[str, _told("Stable, snake_case.")]
    text: str
    paths: Annotated[tuple[str, ...], _told("The metrics that it is made of.")]


class KernelGroup(Record, frozen=True, kw_only=True):
    """Launches of one kernel with one grid and block on one device, in one report."""

    name: str
    side: Side | None
    device: Annotated[int | None, _told("Index of the device in its process; null: the run's own.")]
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    launches: int
    ids: Annotated[tuple[int, ...], _told("Positions in ``kernels`` of the report, the first 100.")]
    total_us: Annotated[float | None, _told("Sum of their durations; null: one is not known.")]
    dram_bytes: float | None
    bound: Annotated[str | None, _told("Limiter or family of the longest of them.")]


class KernelMatch(Record, frozen=True, kw_only=True):
    """A kernel that both reports have."""

    matched_by: Annotated[
        Literal["configuration", "name"], _told("``configuration``: name, grid and block; ``name``: the name alone.")
    ]
    a: KernelGroup
    b: KernelGroup
    changes: tuple[MetricChange, ...]


class Verdict(Record, frozen=True, kw_only=True):
    """Is ``b`` faster?"""

    code: VerdictCode
    text: str
    speedup: Annotated[float | None, _told("Time of ``a`` over time of ``b``; null: not comparable, or no time.")]
    speedup_interval: tuple[float, float] | None
    confidence: Annotated[float | None, _told("Of the interval.")]
    doubts: Annotated[tuple[str, ...], _told("What to know before believing it.")]


class Comparison(Record, frozen=True, kw_only=True):
    """Two reports, compared. Null: not known, or not to be said of these two."""

    comparison_version: int = COMPARISON_VERSION
    kprof_version: str
    a: Subject
    b: Subject
    comparable: Annotated[bool, _told("No difference bars a verdict.")]
    forced: Annotated[bool, _told("A verdict was asked for all the same.")]
    differences: tuple[Difference, ...]
    verdict: Verdict
    explanations: tuple[Explanation, ...]
    changes: tuple[MetricChange, ...]
    matched: tuple[KernelMatch, ...]
    added: Annotated[tuple[KernelGroup, ...], _told("Only in ``b``, most time first.")]
    removed: Annotated[tuple[KernelGroup, ...], _told("Only in ``a``.")]


def comparison_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a comparison; every field is always there."""
    schema = msgspec.json.schema(Comparison)
    for definition in schema["$defs"].values():
        properties = definition.get("properties", {})
        definition["required"] = list(properties)
        for described in properties.values():
            described.pop("default", None)
    schema["$defs"]["Comparison"]["properties"]["comparison_version"]["const"] = COMPARISON_VERSION
    identity = f"urn:kprof:comparison:{COMPARISON_VERSION}"
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": identity}
    return {**head, "title": "A comparison of two kprof reports", **schema}
