"""The verdict on a value against a baseline's.

A value is a regression where it is worse by more than the tolerance, by more than the noise, and by more than one step
of the timer. The noise is the interval of the ratio of medians (Price and Bonett 2002, `kprof.statistics`) with the
noise between processes added (`kprof.gates.noise`); the lower quartile has to leave its own interval too.
"""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

from kprof.evidence import Reason, Record
from kprof.figures import duration
from kprof.gates.change import Change
from kprof.gates.comparability import TOLERABLE, Difference, other_conditions, other_task
from kprof.gates.noise import beside_samples, noise_of, other_boards
from kprof.gates.paths import Found, finite, look_up, part
from kprof.gates.plan import Regression
from kprof.gates.plausible import depends_on_result, in_words, leaps, past_the_floor, wrong_result
from kprof.gates.thresholds import unusable_hint
from kprof.gates.words import percent, shown
from kprof.verdicts import Verdict, VerdictWord

STEPS_NEEDED: Final = 10.0
"""Under this many steps of its timer a time is too coarse to compare."""
CLOCKS_DIFFER: Final = 0.01
"""From this share on the SM clock may be what made the difference."""
NO_BASELINE: Final = Reason(
    code="no_baseline", message="there is no baseline to compare with", hint="Give --baseline or --baseline-dir."
)
_POWER_HINT: Final = "Measure both with --repeats, time a larger problem, or tolerate more."


class Policy(Record, frozen=True, kw_only=True):
    """What the command line says of all regressions."""

    require_power: bool = False
    """Inconclusive, not pass, where a regression of the size tolerated could not have been seen."""
    ignored: tuple[str, ...] = ()
    """Differences between the conditions that are of no matter."""
    missing: Reason = NO_BASELINE
    """Why there is no baseline, where there is none."""


class _Case(Record, frozen=True, kw_only=True):
    """One metric of both reports, and all that a verdict on it says."""

    gate: Regression
    report: dict[str, Any]
    baseline: dict[str, Any]
    change: Change
    warnings: tuple[Reason, ...]

    @property
    def unit(self) -> str | None:
        return self.gate.path.field.shown_unit

    @property
    def told(self) -> str:
        change = self.change
        share = f" ({percent(change.value / change.base - 1.0)})" if change.base else ""
        return f"{shown(change.value, self.unit)} against {shown(change.base, self.unit)}{share}"

    def verdict(self, word: VerdictWord, code: str, message: str, hint: str = "") -> Verdict:
        """The verdict with all the numbers."""
        return Verdict(
            metric=self.gate.path.text,
            expression=self.gate.expression,
            kind="regression",
            verdict=word,
            code=code,
            message=message,
            hint=hint,
            value=self.change.value,
            baseline=self.change.base,
            unit=self.unit,
            threshold=self.change.limit,
            change_pct=self.change.change_pct,
            change_interval_pct=self.change.interval_pct,
            mde_pct=self.change.mde_pct,
            warnings=self.warnings,
        )


def judge_regression(
    gate: Regression, report: dict[str, Any], baseline: dict[str, Any] | None, policy: Policy
) -> Verdict:
    """The verdict; every way to no pass is tried before the numbers are compared."""
    found, base = look_up(report, gate.path), look_up(baseline, gate.path) if baseline is not None else []
    value, base_value = _worst(gate, found), _worst(gate, base)
    wrong = wrong_result(report)
    if wrong is not None and depends_on_result(gate.path):
        return _without_numbers(
            gate, value, base_value, "fail", "wrong_result", f"{wrong}; its speed counts for nothing"
        )
    refused = _refuse(gate, report, baseline, (value, base_value), policy)
    if refused is not None:
        return refused
    assert baseline is not None
    change = Change(
        value=value.number,
        base=base_value.number,
        better=gate.better,
        relative=gate.relative,
        absolute=gate.absolute,
        noise=noise_of(gate.path, report, baseline),
    )
    told = (*change.noise.warnings, *_board_warnings(report, baseline), *_ignored(gate, report, baseline, policy))
    case = _Case(gate=gate, report=report, baseline=baseline, change=change, warnings=told)
    verdict = _compare(case, policy)
    unknown = next((one for one in (*found, *base) if one.value is None or one.code), None)
    if verdict.verdict == "pass" and unknown is not None:
        return msgspec.structs.replace(
            verdict, verdict="inconclusive", code=unknown.code, message=unknown.problem, hint=unusable_hint(unknown)
        )
    return verdict


def _worst(gate: Regression, found: list[Found]) -> Found:
    """Of several launches the worst whose value is known."""
    known = [one for one in found if one.value is not None and not one.code]
    if not known:
        return found[0] if found else Found(value=None, code="no_baseline", problem="there is no baseline")
    return (max if gate.better == "lower" else min)(known, key=lambda one: one.number)


def _without_numbers(
    gate: Regression, value: Found, base: Found, word: VerdictWord, code: str, message: str, hint: str = ""
) -> Verdict:
    return Verdict(
        metric=gate.path.text,
        expression=gate.expression,
        kind="regression",
        verdict=word,
        code=code,
        message=message,
        hint=hint,
        value=value.value,
        baseline=base.value,
        unit=gate.path.field.shown_unit,
    )


def _refuse(
    gate: Regression,
    report: dict[str, Any],
    baseline: dict[str, Any] | None,
    values: tuple[Found, Found],
    policy: Policy,
) -> Verdict | None:
    """Why there is nothing to compare."""

    def inconclusive(code: str, message: str, hint: str = "") -> Verdict:
        return _without_numbers(gate, *values, "inconclusive", code, message, hint)

    value, base = values
    if baseline is None:
        return inconclusive(policy.missing.code, policy.missing.message, policy.missing.hint)
    tasks = other_task(report, baseline)
    if tasks:
        return inconclusive(
            "other_task", f"the baseline is of another task: {_listed(tasks)}", "Give its own baseline."
        )
    conditions = [one for one in other_conditions(gate.path, report, baseline) if one.name not in policy.ignored]
    if conditions:
        first = conditions[0].name
        in_spite = f", or give --ignore-difference {first}" if first in TOLERABLE else ""
        hint = f"Measure the baseline again here{in_spite}."
        return inconclusive("not_comparable", f"not measured alike: {_listed(conditions)}", hint)
    if value.value is None or value.code:
        return inconclusive(value.code, value.problem, unusable_hint(value))
    if base.value is None or base.code:
        return inconclusive(f"baseline_{base.code}", f"in the baseline: {base.problem}", "Measure the baseline again.")
    wrong_base = wrong_result(baseline)
    if wrong_base is not None and depends_on_result(gate.path):
        return inconclusive("baseline_wrong_result", f"in the baseline {wrong_base}", "Measure the baseline again.")
    if gate.relative is not None and base.number == 0 != value.number and gate.absolute is None:
        return inconclusive(
            "baseline_zero", "the baseline is 0, of which there is no share", "Add an absolute tolerance."
        )
    return None


def _listed(differences: tuple[Difference, ...] | list[Difference]) -> str:
    return "; ".join(map(str, differences))


def _board_warnings(report: dict[str, Any], baseline: dict[str, Any]) -> list[Reason]:
    if not other_boards(report, baseline):
        return []
    message = "another board of the same model: boards of one model differ by up to 3 %"
    return [Reason(code="other_board", message=message, hint="Measure the baseline on this board.")]


def _ignored(gate: Regression, report: dict[str, Any], baseline: dict[str, Any], policy: Policy) -> list[Reason]:
    found = [one for one in other_conditions(gate.path, report, baseline) if one.name in policy.ignored]
    return [Reason(code="difference_ignored", message=str(one)) for one in found]


def _compare(case: _Case, policy: Policy) -> Verdict:
    change, told = case.change, case.told
    implausible = _implausible(case)
    if implausible is not None:
        return case.verdict("inconclusive", "suspicious", implausible, "Check that the kernel does all of the work.")
    if change.noise.below_steps is not None and change.noise.below_steps < STEPS_NEEDED:
        message = f"{told}: under {STEPS_NEEDED:g} steps of its timer"
        return case.verdict("not_gated", "below_resolution", message, "Time a larger problem.")
    if change.is_worse() and change.beyond_tolerance():
        return _worse(case)
    if change.is_worse() and change.relative is not None and change.beyond_share():
        message = f"{told}: beyond {100.0 * change.relative:g} %, within {shown(change.absolute, case.unit)}"
        return case.verdict("not_gated", "below_absolute_tolerance", message)
    return _no_regression(case, policy)


def _implausible(case: _Case) -> str | None:
    floor = past_the_floor(case.gate.path, case.report)
    if floor is not None:
        return floor
    worse = case.change.log_worse
    if worse is not None and leaps(case.gate.path, math.exp(-worse)):
        return f"{case.told}: better by {in_words(math.exp(-worse))} in one step"
    if worse is None and case.gate.path.field.unit == "us" and case.change.value <= 0:
        return f"a time of {duration(case.change.value)}"
    return None


def _worse(case: _Case) -> Verdict:
    """A regression, unless the clock alone made it."""
    change = case.change
    clocks = [part(one, "blocks", "timing", "sm_clock_mhz") for one in (case.report, case.baseline)]
    clock, base_clock = map(finite, clocks)
    if case.gate.path.field.unit == "us" and clock and base_clock and min(clock, base_clock) > 0:
        in_cycles = msgspec.structs.replace(change, value=change.value * clock / base_clock)
        slowed = clock < base_clock * (1.0 - CLOCKS_DIFFER)
        if slowed and not (in_cycles.is_worse() and in_cycles.beyond_tolerance()):
            told = f"{case.told}, but not in cycles: the SM clock was {clock:.0f} MHz, in the baseline {base_clock:.0f}"
            return case.verdict("inconclusive", "clock_differs", told, "Measure again with the same clock.")
    return case.verdict("fail", "regression", f"{case.told}: worse than {shown(change.limit, case.unit)}")


def _no_regression(case: _Case, policy: Policy) -> Verdict:
    change, told = case.change, case.told
    contradicted = beside_samples(case.gate.path, case.report) or beside_samples(case.gate.path, case.baseline)
    if contradicted is not None:
        return case.verdict("inconclusive", "contradicts_samples", contradicted, "Measure again.")
    mde = change.mde_pct
    weak = mde is None or mde > change.tolerance_pct
    if weak and policy.require_power:
        seen = "is not known" if mde is None else f"is {mde:.2g} %"
        message = f"{told}: the least regression that this data shows {seen}; {change.tolerance_pct:.3g} % is tolerated"
        return case.verdict("inconclusive", "underpowered", message, _POWER_HINT)
    if weak and mde is not None:
        message = f"a regression under {mde:.2g} % would not have been seen; {change.tolerance_pct:.3g} % is tolerated"
        warning = Reason(code="underpowered", message=message, hint=_POWER_HINT)
        case = msgspec.structs.replace(case, warnings=(*case.warnings, warning))
    if change.is_worse_in_median_alone() and change.beyond_tolerance():
        warning = Reason(
            code="two_speeds", message=f"{told}, but not in the lower quartile of the samples", hint=_POWER_HINT
        )
        case = msgspec.structs.replace(case, warnings=(*case.warnings, warning))
    if change.is_better():
        return case.verdict("pass", "improved", told)
    return case.verdict("pass", "within_noise" if change.beyond_tolerance() else "within_tolerance", told)
