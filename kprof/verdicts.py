"""The record of a gate's verdict: what ``gates`` of a report holds."""

from __future__ import annotations

from typing import Annotated, Literal

from kprof.evidence import Reason, Record
from kprof.metrics import metric

GateKind = Literal["threshold", "regression", "result"]
VerdictWord = Literal["pass", "fail", "inconclusive", "not_gated"]
Scalar = int | float | bool | str

_FILE = "the thresholds file"
_RULES = "kprof's own rules"
_REPORT = "the report"
_BASELINE = "the baseline"
_INTERVAL = "interval of the ratio of medians, noise between processes added"


class Verdict(Record, frozen=True, kw_only=True):
    """What one gate says. Only ``pass`` is a pass: what is null, suspect or not comparable is ``inconclusive``."""

    metric: Annotated[str, metric("text", "Path of the value: block.field, kernels[NAME].field", source=_FILE)]
    expression: Annotated[str, metric("text", "The gate as it was written", source=_FILE)]
    kind: Annotated[
        GateKind,
        metric(
            "text",
            "threshold: against a number, a word or a flag; regression: against a baseline; result: the kernel is "
            "wrong, which fails without being asked for",
            source=_RULES,
        ),
    ]
    verdict: Annotated[VerdictWord, metric("text", "The verdict; not_gated: below the timer's steps", source=_RULES)]
    code: Annotated[str, metric("text", "Why: stable, snake_case", source=_RULES)]
    message: Annotated[str, metric("text", "Why: one line with the numbers", source=_RULES)]
    hint: Annotated[str, metric("text", "What to do about it; empty: nothing", source=_RULES)] = ""
    value: Annotated[Scalar | None, metric("text", "The value, in `unit`; null: there is none", source=_REPORT)] = None
    baseline: Annotated[
        Scalar | None, metric("text", "The baseline's value, in `unit`; null: there is none", source=_BASELINE)
    ] = None
    unit: Annotated[str | None, metric("text", "Unit of value, baseline and threshold", source=_RULES)] = None
    threshold: Annotated[
        Scalar | None,
        metric("text", "The limit, in `unit`; of a regression the worst value within tolerance", source=_FILE),
    ] = None
    change_pct: Annotated[float | None, metric("%", "value over baseline less 1; null: no ratio", source=_BASELINE)] = (
        None
    )
    change_interval_pct: Annotated[
        tuple[float, float] | None, metric("%", "95 % interval of change_pct; null: no samples", source=_INTERVAL)
    ] = None
    mde_pct: Annotated[
        float | None,
        metric("%", "Least regression found in 4 of 5 runs; null: the noise is not known", source=_INTERVAL),
    ] = None
    warnings: Annotated[
        tuple[Reason, ...], metric("record", "What to know before trusting the verdict", source=_RULES)
    ] = ()
