"""The block ``integrity``: its record. Of its checks this version makes those of compute-sanitizer, where asked."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from kprof.blocks.base import Absence, Block, absent_block, finish, not_requested
from kprof.blocks.sanitizer import SOURCE as SANITIZER
from kprof.blocks.sanitizer import SanitizerInfo, sanitizer_infos, sanitizer_judgements
from kprof.capture import Capture
from kprof.evidence import Reason, Record
from kprof.metrics import metric

CHECKS: Final = "kprof's checks of the run"
NOT_COLLECTED: Final = Reason(code="not_collected", message="this version of kprof does not measure this block yet")
_NOT_TOLD: Final = "not_told"


class Check(Record, frozen=True, kw_only=True):
    """One check of the run."""

    name: Annotated[str, metric("text", "Which check", source=CHECKS)]
    severity: Annotated[Literal["fail", "advisory"], metric("text", "Whether it can fail the block", source=CHECKS)]
    passed: Annotated[bool | None, metric("bool", "Its outcome", better="higher", source=CHECKS)] = None
    detail: Annotated[str, metric("text", "What was found", source=CHECKS)] = ""


class IntegrityBlock(Block, frozen=True, kw_only=True):
    """Whether the kernel did the work it was timed for. Only checks of severity ``fail`` make ``passed`` false."""

    passed: Annotated[bool | None, metric("bool", "No check failed", better="higher", source=CHECKS)] = None
    checks: Annotated[tuple[Check, ...] | None, metric("record", "The checks", source=CHECKS)] = None
    sanitizer: Annotated[
        tuple[SanitizerInfo, ...] | None,
        metric("record", "Runs of compute-sanitizer; null: none was asked for", source=SANITIZER),
    ] = None


def integrity_block(capture: Capture) -> IntegrityBlock:
    """The block ``integrity``: null but for what compute-sanitizer found."""
    absence = not_requested(capture, "integrity")
    judgements = sanitizer_judgements(capture)
    if absence is not None or not judgements:
        return absent_block(IntegrityBlock, absence or Absence(status="unavailable", reason=NOT_COLLECTED), CHECKS)
    codes = {f"checks[{index}].passed": one.code for index, one in enumerate(judgements)}
    block = IntegrityBlock(
        status="ok",
        source=CHECKS,
        # The other checks are not made: a kernel in which these find nothing has not passed.
        passed=False if any(one.passed is False for one in judgements) else None,
        checks=tuple(Check(name=one.name, severity="fail", passed=one.passed, detail=one.detail) for one in judgements),
        sanitizer=sanitizer_infos(capture),
    )
    return finish(block, lambda path: codes.get(path, _NOT_TOLD if path != "passed" else NOT_COLLECTED.code))
