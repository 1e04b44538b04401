"""One check, and the ways to make one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from kprof.evidence import Reason, Record
from kprof.metrics import metric

CHECKS: Final = "kprof's checks of the run"
Severity = Literal["fail", "advisory"]
_MOST_NAMED: Final = 4


class Check(Record, frozen=True, kw_only=True):
    """One check of the run."""

    name: Annotated[str, metric("text", "What is looked for", source=CHECKS)]
    severity: Annotated[Severity, metric("text", "Whether it can fail the block", source=CHECKS)]
    passed: Annotated[
        bool | None, metric("bool", "It was not found; null: nobody could look", better="higher", source=CHECKS)
    ] = None
    detail: Annotated[str, metric("text", "What was found, or why nobody could look", source=CHECKS)] = ""
    reason: Annotated[str | None, metric("text", "Code of why nobody could look", source=CHECKS)] = None


def fail(name: str, found: str | None) -> Check:
    return Check(name=name, severity="fail", passed=found is None, detail=found or "")


def advise(name: str, found: str | None) -> Check:
    return Check(name=name, severity="advisory", passed=found is None, detail=found or "")


def unknown(name: str, reason: Reason, severity: Severity = "fail") -> Check:
    return Check(name=name, severity=severity, passed=None, detail=reason.message, reason=reason.code)


def named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


NOT_LOOKED: Final = Reason(code="not_looked_at", message="no timed call with such values was looked at")


def failed_checks(checks: Sequence[Check] | None) -> list[Check]:
    """Those that make the verdict of the block: of severity ``fail``, and what they look for was found."""
    return [check for check in checks or () if check.passed is False and check.severity == "fail"]
