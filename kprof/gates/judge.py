"""All verdicts on a report, and the exit code that they ask for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kprof.gates.paths import part
from kprof.gates.plan import GatePlan
from kprof.gates.plausible import wrong_result
from kprof.gates.regressions import Policy, judge_regression
from kprof.gates.thresholds import judge_threshold
from kprof.verdicts import Verdict


def judge(
    plan: GatePlan, report: dict[str, Any], baseline: dict[str, Any] | None = None, policy: Policy | None = None
) -> tuple[Verdict, ...]:
    """One verdict a gate, in the order written; a wrong result is one more.

    Args:
        plan: the gates.
        report: what to judge, as plain values. Fields that are missing or of a wrong type count as not measured.
        baseline: another report; None: regressions are inconclusive.
        policy: what the command line says of all of them.
    """
    policy = policy or Policy()
    verdicts = [judge_threshold(one, report) for one in plan.thresholds]
    verdicts += [judge_regression(one, report, baseline, policy) for one in plan.regressions]
    wrong = wrong_result(report)
    return (*([_wrong(report, wrong)] if wrong is not None else []), *verdicts)


def _wrong(report: dict[str, Any], message: str) -> Verdict:
    passed = part(report, "blocks", "precision", "passed")
    of_precision = passed is not None and passed is not True
    return Verdict(
        metric="precision.passed" if of_precision else "integrity.passed",
        expression="the result is right" if of_precision else "integrity has passed",
        kind="result",
        verdict="fail",
        code="wrong_result",
        message=message,
        hint="blocks.precision has every mismatch and the worst element."
        if of_precision
        else "blocks.integrity has every check.",
        value=False,
        threshold=True,
    )


def gates_exit_code(verdicts: Iterable[Verdict], *, inconclusive_ok: bool = False) -> int:
    """1 a gate failed, else 4 one was inconclusive, else 0; ``not_gated`` changes nothing."""
    words = {one.verdict for one in verdicts}
    if "fail" in words:
        return 1
    return 4 if "inconclusive" in words and not inconclusive_ok else 0


def first_exit_code(codes: Iterable[int]) -> int:
    """Of several reasons to end the first of 2, 3, 1, 4, as the command line's contract orders them."""
    found = set(codes)
    return next((code for code in (2, 3, 1, 4) if code in found), 0)
