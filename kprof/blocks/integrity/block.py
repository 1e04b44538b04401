"""The block ``integrity``: did the kernel do the work that it was timed for?

Every check is named for what it looks for; ``passed`` says that it was not found. Checks of severity ``fail`` make the
block fail. ``advisory`` ones say what is worth knowing of kernels that may well be honest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

from kprof.blocks.base import Absence, Block, absent_block, finish, not_requested, stage_absence
from kprof.blocks.counter_analysis import CounterAnalysis
from kprof.blocks.integrity.advisories import advisories
from kprof.blocks.integrity.check import Check, failed_checks
from kprof.blocks.integrity.process import fault_checks, process_checks
from kprof.blocks.integrity.results import result_checks
from kprof.blocks.integrity.times import never_seen_us, repeated_us, time_checks
from kprof.blocks.sanitizer import SOURCE as SANITIZER
from kprof.blocks.sanitizer import SanitizerInfo, sanitizer_infos, sanitizer_judgements
from kprof.capture import Capture
from kprof.evidence import Reason
from kprof.integrity_evidence import IntegrityEvidence
from kprof.metrics import metric

SOURCE: Final = "timed calls that were looked at, the process, the trace and the source"
_CALLS: Final = "the timed calls that were looked at"
FAILED: Final = "integrity_failed"


class IntegrityBlock(Block, frozen=True, kw_only=True):
    """Whether the kernel did the work it was timed for. Only checks of severity ``fail`` make ``passed`` false."""

    passed: Annotated[bool | None, metric("bool", "No check failed", better="higher", source=SOURCE)] = None
    checks: Annotated[tuple[Check, ...] | None, metric("record", "The checks", source=SOURCE)] = None
    timed_calls: Annotated[
        int | None, metric("count", "Timed calls of the kernel in the series looked into", source=_CALLS)
    ] = None
    looked_at: Annotated[int | None, metric("count", "Those that were looked at", source=_CALLS)] = None
    judged: Annotated[int | None, metric("count", "Those whose result was compared", source=_CALLS)] = None
    repeated_us: Annotated[
        float | None, metric("us", "Median of the calls with the usual values, written anew", source=_CALLS)
    ] = None
    never_seen_us: Annotated[
        float | None, metric("us", "Median of the calls with values never seen, at the same addresses", source=_CALLS)
    ] = None
    sanitizer: Annotated[
        tuple[SanitizerInfo, ...] | None,
        metric("record", "Runs of compute-sanitizer; null: none was asked for", source=SANITIZER),
    ] = None


def integrity_block(capture: Capture, counters: CounterAnalysis | None = None) -> IntegrityBlock:
    """The block ``integrity`` of a capture, with what is said of its counters; None: to be analysed here."""
    counters = counters or CounterAnalysis(capture)
    skipped = not_requested(capture, "integrity")
    if skipped is not None:
        return absent_block(IntegrityBlock, skipped, SOURCE)
    evidence, checks = capture.integrity, _all_checks(capture, counters)
    if evidence is None and capture.sanitizer is None and not any(check.passed is False for check in checks):
        return absent_block(IntegrityBlock, stage_absence(capture, "integrity"), SOURCE)
    calls = evidence.calls if evidence is not None else ()
    passed = _passed(checks)
    absence = _absence(capture, passed, evidence)
    block = IntegrityBlock(
        status=absence.status if absence is not None else "ok",
        reason=absence.reason if absence is not None else None,
        source=SOURCE,
        warnings=(*_not_sanitized(capture), *_advised(checks)),
        passed=passed,
        checks=checks,
        timed_calls=evidence.timed_calls if evidence is not None else None,
        looked_at=len(calls) if evidence is not None else None,
        judged=sum(call.judged for call in calls) if evidence is not None else None,
        repeated_us=repeated_us(calls),
        never_seen_us=never_seen_us(calls),
        sanitizer=sanitizer_infos(capture),
    )
    return finish(block, lambda path: _why_null(capture, block, path))


def _not_sanitized(capture: Capture) -> Iterator[Reason]:
    """Tools that were asked for and say nothing: a run without findings is another thing."""
    for one in sanitizer_judgements(capture):
        if one.passed is None:
            yield Reason(code="not_sanitized", message=f"{one.name} was asked for and has no result: {one.detail}")


def _advised(checks: tuple[Check, ...]) -> Iterator[Reason]:
    for check in checks:
        if check.passed is False and check.severity == "advisory":
            yield Reason(code=check.name, message=check.detail)


def _all_checks(capture: Capture, counters: CounterAnalysis) -> tuple[Check, ...]:
    """Every check, those that can fail first."""
    evidence = capture.integrity
    sanitized = tuple(
        Check(name=one.name, severity="fail", passed=one.passed, detail=one.detail, reason=one.code or None)
        for one in sanitizer_judgements(capture)
    )
    if evidence is None:
        # That the process went on and answered for itself says little of a run that nobody looked into.
        return (*(check for check in fault_checks(capture) if check.passed is False), *sanitized)
    return (
        *result_checks(capture, evidence),
        *time_checks(capture, evidence),
        *process_checks(evidence),
        *fault_checks(capture),
        *sanitized,
        *advisories(capture, evidence, counters),
    )


def _passed(checks: tuple[Check, ...]) -> bool | None:
    """False: a check failed. None: one that matters could not be made, or no call with new values was judged."""
    failing = [check for check in checks if check.severity == "fail"]
    if any(check.passed is False for check in failing):
        return False
    if any(check.passed is None and check.reason not in NOT_APPLICABLE for check in failing):
        return None
    judged = {check.name for check in failing if check.passed}
    return True if judged & {"wrong_on_refilled", "wrong_on_moved", "wrong_on_swapped"} else None


NOT_APPLICABLE: Final = frozenset(
    {
        "no_floating_inputs",
        "exchange_not_valid",
        "inputs_not_refillable",
        "shapes_vary",
        "not_profiled",
        "too_few_calls",
        "no_other_calls",
    }
)
"""Why a check has nothing to look at here, which is no gap."""


def _absence(capture: Capture, passed: bool | None, evidence: IntegrityEvidence | None) -> Absence | None:
    fault = stage_absence(capture, "integrity") if capture.fault("integrity") is not None else None
    if fault is not None:
        return Absence(status="failed", reason=fault.reason)
    if passed is None and evidence is not None:
        early = evidence.absent.get("calls")
        return Absence(status="suspect", reason=early) if early is not None else None
    return None


def _why_null(capture: Capture, block: IntegrityBlock, path: str) -> str:
    checks, evidence = block.checks or (), capture.integrity
    if path.startswith("checks["):
        return checks[int(path[len("checks[") :].split("]")[0])].reason or "not_checked"
    if path.startswith("sanitizer"):
        return "not_requested" if path == "sanitizer" else "not_told"
    if path == "passed":
        return next((one.reason for one in checks if one.passed is None and one.reason), "not_judged")
    if evidence is None:
        return stage_absence(capture, "integrity").reason.code
    reasons = [evidence.absent.get(name) for name in ("calls", "refilled", "swapped")]
    return next((reason.code for reason in reasons if reason is not None), "not_looked_at")


def failed_reason(block: IntegrityBlock) -> Reason | None:
    """Why times of this kernel are not to be trusted; None: nothing failed."""
    failed = failed_checks(block.checks)
    if not failed:
        return None
    names = ", ".join(check.name for check in failed)
    return Reason(
        code=FAILED,
        message=f"the kernel may not do the work it is timed for: {names}: {failed[0].detail}",
        hint="blocks.integrity of the report has every check.",
    )
