"""The exit code that a report asks for, gates aside: one rule for the records and for plain values read from a file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

NO_HEADLINE: Final = "no_headline"
"""Code of a timing block whose views do not hold the one that the headline is from."""
_OPTIONAL_STAGES: Final = ("integrity", "memory", "launches")
_COSTS_ITS_BLOCKS_ALONE: Final = ("floor", "counters")
"""Stages whose faults never change the exit code: the answer was measured before them."""
_USAGE_CODES: Final = ("unknown_override", "override_type")


class FaultHead(NamedTuple):
    """What the exit code depends on of a fault."""

    code: str
    stage: str
    side: str | None


def measured_exit_code(faults: Iterable[FaultHead], *, is_wrong: bool, timing_code: str | None = None) -> int:
    """2 usage, 3 could not measure, 1 the result is wrong or the kernel did not do its work, 0 none of these.

    An override that the reference does not know is usage, though only the worker can tell. A fault in one of the two
    files is always 3. One that is nobody's is 3 only in a stage that the rest builds on: a profiler that does not start
    takes its own block with it and no more. Timing that ran and gave no headline is 3 without a fault too.

    Args:
        faults: of the run.
        is_wrong: a result, or the integrity of the timing, was judged and failed.
        timing_code: code of the reason of the block ``timing``.
    """
    listed = list(faults)
    if any(fault.code in _USAGE_CODES for fault in listed):
        return 2
    telling = [fault for fault in listed if fault.stage not in _COSTS_ITS_BLOCKS_ALONE]
    if any(fault.side is not None or fault.stage not in _OPTIONAL_STAGES for fault in telling):
        return 3
    if timing_code == NO_HEADLINE:
        return 3
    return 1 if is_wrong else 0
