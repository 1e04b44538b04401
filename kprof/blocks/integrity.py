"""The block ``integrity``: its record. This version checks nothing of it yet and says so."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from kprof.blocks.base import Absence, Block, absent_block, not_requested
from kprof.capture import Capture
from kprof.evidence import Reason, Record
from kprof.metrics import metric

CHECKS: Final = "kprof's checks of the run"
NOT_COLLECTED: Final = Reason(code="not_collected", message="this version of kprof does not measure this block yet")


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


def integrity_block(capture: Capture) -> IntegrityBlock:
    """The block ``integrity``, all its fields null."""
    absence = not_requested(capture, "integrity") or Absence(status="unavailable", reason=NOT_COLLECTED)
    return absent_block(IntegrityBlock, absence, CHECKS)
