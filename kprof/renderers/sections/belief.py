"""Whether the speed of a kernel counts: that of a wrong one, or of one that did not do its work, does not."""

from __future__ import annotations

from kprof.blocks.integrity.check import failed_checks
from kprof.report import Blocks


def disbelief(blocks: Blocks) -> str:
    """Why the speed of this kernel counts for nothing; empty: it counts."""
    checks = [one.name for one in failed_checks(blocks.integrity.checks)]
    wrong = ["the result is wrong"] if blocks.precision.passed is False else []
    return "; ".join((*wrong, *([f"integrity failed ({', '.join(checks)})"] if checks else [])))


def advice_waits(blocks: Blocks) -> str:
    """Until when nothing is said of how to make this kernel faster; empty: it is said."""
    right = ["the result is right"] if blocks.precision.passed is False else []
    return " and ".join((*right, *(["integrity passes"] if failed_checks(blocks.integrity.checks) else [])))
