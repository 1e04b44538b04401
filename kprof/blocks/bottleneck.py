"""The block ``bottleneck``: what holds a kernel back, with the numbers behind the verdict."""

from __future__ import annotations

from typing import Annotated, Final

from kprof.blocks.base import Block, Status, finish
from kprof.blocks.profiled import SOURCE
from kprof.blocks.sol_records import OF_THE_TASK
from kprof.bottleneck.verdict import Family, Proof, Step, Verdict
from kprof.evidence import Reason, Record
from kprof.metrics import metric

ESTIMATED: Final = "algorithmic minimum of the task and measured roofs"
_RULES: Final = "kprof's rules, after those of Nsight Compute"
_NO_LIMITER: Final = {"launch": "host_bound", "balanced": "balanced", "latency": "no_cause_stands_out"}


class Evidence(Record, frozen=True, kw_only=True):
    """One number behind a verdict; ``unit`` names its unit."""

    metric: Annotated[str, metric("text", "Which metric, in the words of what measured it", source=SOURCE)]
    value: Annotated[float | None, metric("output", "Its value, in `unit`", source=SOURCE)] = None
    unit: Annotated[str, metric("text", "The unit of value and threshold", source=SOURCE)]
    threshold: Annotated[
        float | None, metric("output", "The border it was held against, in `unit`; null: none", source=_RULES)
    ] = None


class Advice(Record, frozen=True, kw_only=True):
    """One thing to try."""

    text: Annotated[str, metric("text", "What to do", source=_RULES)]
    at_most_x: Annotated[
        float | None, metric("ratio", "Speedup that it cannot exceed; null: no bound is known", source=_RULES)
    ] = None


class BottleneckBlock(Block, frozen=True, kw_only=True):
    """What holds the kernel back, with the numbers behind the verdict."""

    family: Annotated[
        Family | None,
        metric(
            "text",
            "memory, compute: a unit is near its peak; latency: none is; balanced: both sides alike; launch: the host "
            "cannot keep the GPU busy, or on the CPU the overhead of a call; unknown: counters are missing",
            source=_RULES,
        ),
    ] = None
    limiter: Annotated[str | None, metric("text", "The unit or the cause", source=_RULES)] = None
    kernel: Annotated[
        str | None,
        metric("text", "The kernel whose label it is, of several the longest; null: no kernel's", source=_RULES),
    ] = None
    time_share_pct: Annotated[
        float | None, metric("%", "Device time of all launches with this label, of all on that device", source=SOURCE)
    ] = None
    evidence: Annotated[tuple[Evidence, ...] | None, metric("record", "The numbers behind it", source=SOURCE)] = None
    advice: Annotated[tuple[Advice, ...] | None, metric("record", "What to do about it", source=_RULES)] = None
    margin_pct: Annotated[
        float | None,
        metric("%", "How far all values may move at once before another label holds", source=_RULES),
    ] = None
    near_border: Annotated[str | None, metric("text", "The runner-up where a border is within 2 %", source=_RULES)] = (
        None
    )
    estimated: Annotated[
        bool | None,
        metric(
            "bool", "It rests on the least that the task asks for and measured roofs, not on counters", source=_RULES
        ),
    ] = None


def bottleneck_block(
    verdict: Verdict, of: tuple[str, float | None] | None = None, *, estimated: bool = False
) -> BottleneckBlock:
    """The block of a verdict.

    Args:
        verdict: what analysis says.
        of: the kernel whose label it is, and the share of the time that has the label; None: no kernel's.
            A share of None: some launch's time is not known.
        estimated: the verdict rests on what the task asks for at least, and on measured roofs.
    """
    told = tuple(reason for reason in (_missing(verdict), _doubted(verdict)) if reason is not None)
    unknown = verdict.family == "unknown"
    status: Status = "unavailable" if unknown else "ok"
    block = BottleneckBlock(
        status=status,
        reason=told[0] if unknown and told else None,
        source=ESTIMATED if estimated else SOURCE,
        warnings=told[1:] if unknown else told,
        family=verdict.family,
        limiter=verdict.limiter,
        kernel=of[0] if of is not None else None,
        time_share_pct=of[1] * 100 if of is not None and of[1] is not None else None,
        evidence=tuple(_evidence(proof) for proof in verdict.proofs),
        advice=tuple(_advice(step) for step in verdict.steps),
        margin_pct=None if verdict.margin is None else verdict.margin * 100,
        near_border=verdict.near_border,
        estimated=estimated,
    )
    if estimated:
        return finish(block, lambda path: _why_null_estimated(verdict, path))
    return finish(block, lambda path: _why_null(verdict, path, timeless=of is not None and of[1] is None))


def _why_null_estimated(verdict: Verdict, path: str) -> str:
    if path in ("kernel", "time_share_pct"):
        return OF_THE_TASK
    return "call_overhead" if path == "limiter" else _why_null(verdict, path, timeless=False)


def _missing(verdict: Verdict) -> Reason | None:
    if not verdict.missing:
        return None
    names = ", ".join(verdict.missing)
    return Reason(
        code="counters_missing",
        message=f"the label rests on what is there; not measured: {names}",
        hint="Let kprof analyze collect its own set, or profile with ncu --set full.",
    )


def _doubted(verdict: Verdict) -> Reason | None:
    if not verdict.doubted:
        return None
    names = ", ".join(verdict.doubted)
    return Reason(code="counters_doubted", message=f"the label leaves out what was measured and cannot be: {names}")


def _evidence(proof: Proof) -> Evidence:
    return Evidence(metric=proof.metric, value=proof.value, unit=proof.unit, threshold=proof.threshold)


def _advice(step: Step) -> Advice:
    return Advice(text=step.text, at_most_x=step.at_most_x)


def _why_null(verdict: Verdict, path: str, *, timeless: bool) -> str:
    if path == "limiter":
        return _NO_LIMITER.get(verdict.family, "counters_missing")
    if timeless and path == "time_share_pct":
        return "launches_without_time"
    if verdict.family == "unknown" and path in ("kernel", "time_share_pct"):
        return "counters_missing"
    if path in ("kernel", "time_share_pct"):
        return "host_bound" if verdict.family == "launch" else "one_launch"
    if path == "near_border":
        return "no_border_near"
    if path.endswith("threshold"):
        return "no_threshold"
    return "counters_missing" if path == "margin_pct" else "no_bound_known"
