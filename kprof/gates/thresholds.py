"""The verdict on a value against a number, a word or a flag."""

from __future__ import annotations

from typing import Any, Final

from kprof.gates.paths import Found, look_up
from kprof.gates.plan import Threshold, holds
from kprof.gates.plausible import depends_on_result, past_the_floor, wrong_result
from kprof.gates.words import shown
from kprof.verdicts import Verdict, VerdictWord

_GRAVEST_FIRST: Final[tuple[VerdictWord, ...]] = ("fail", "inconclusive", "pass", "not_gated")
_NO_VALUE_HINT: Final = "Measure it, or take the gate out: what was not measured never passes."


def judge_threshold(threshold: Threshold, report: dict[str, Any]) -> Verdict:
    """The verdict; of several launches that of the worst."""
    verdicts = [_of_one(threshold, report, found) for found in look_up(report, threshold.path)]
    worst = min(verdicts, key=lambda one: _GRAVEST_FIRST.index(one.verdict))
    alike = [one for one in verdicts if one.verdict == worst.verdict and isinstance(one.value, (int, float))]
    if not alike:
        return worst
    most = min if threshold.operator in (">", ">=") else max
    return most(alike, key=lambda one: float(one.value or 0.0))


def unusable_hint(found: Found) -> str:
    """What to do about a value that no gate can use: one that is not there, or one that is not to be trusted."""
    return _NO_VALUE_HINT if found.value is None else found.hint


def _of_one(threshold: Threshold, report: dict[str, Any], found: Found) -> Verdict:
    def verdict(word: VerdictWord, code: str, message: str, hint: str = "") -> Verdict:
        return Verdict(
            metric=threshold.path.text,
            expression=threshold.expression,
            kind="threshold",
            verdict=word,
            code=code,
            message=message,
            hint=hint,
            value=found.value,
            unit=threshold.path.field.shown_unit,
            threshold=threshold.literal,
        )

    wrong = wrong_result(report)
    if wrong is not None and depends_on_result(threshold.path):
        return verdict("fail", "wrong_result", f"{wrong}; its numbers count for nothing")
    if found.value is None or found.code:
        return verdict("inconclusive", found.code, found.problem, unusable_hint(found))
    implausible = past_the_floor(threshold.path, report)
    if implausible is not None:
        return verdict("inconclusive", "suspicious", implausible, "Check that the kernel does all of the work.")
    unit = threshold.path.field.shown_unit
    told = f"{shown(found.value, unit)} against {threshold.operator} {shown(threshold.literal, unit)}"
    if holds(found.value, threshold.operator, threshold.literal):
        return verdict("pass", "within_threshold", told)
    return verdict("fail", "threshold_not_met", told)
