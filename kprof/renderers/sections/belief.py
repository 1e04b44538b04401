"""Whether the speed of a kernel counts: that of a wrong one, or of one that did not do its work, does not."""

from __future__ import annotations

from kprof.report import Blocks


def failed_checks(blocks: Blocks) -> list[str]:
    """The checks of integrity that make its verdict."""
    return [one.name for one in blocks.integrity.checks or () if one.passed is False and one.severity == "fail"]


def disbelief(blocks: Blocks) -> str:
    """Why the speed of this kernel counts for nothing; empty: it counts."""
    checks = failed_checks(blocks)
    wrong = ["the result is wrong"] if blocks.precision.passed is False else []
    return "; ".join((*wrong, *([f"integrity failed ({', '.join(checks)})"] if checks else [])))


def advice_waits(blocks: Blocks) -> str:
    """Until when nothing is said of how to make this kernel faster; empty: it is said."""
    right = ["the result is right"] if blocks.precision.passed is False else []
    return " and ".join((*right, *(["integrity passes"] if failed_checks(blocks) else [])))
