"""Why a number is not there, in words: blocks hold codes for programs, and people read sentences."""

from __future__ import annotations

from typing import Final, Protocol

from kprof.evidence import Reason
from kprof.renderers.content import Explained, absent

_SENTENCES: Final[dict[str, str]] = {
    "all_pipes_idle": "no math pipe was busy",
    "board_unknown": "the board is not known",
    "bytes_not_counted": "the bytes of the task were not counted",
    "counter_missing_in_some_launches": "some launch lacks its counters",
    "counter_not_collected": "its counters were not collected",
    "counters_not_collected": "the run holds no hardware counters",
    "flop_not_counted": "the FLOP of the reference were not counted",
    "imported_report": "a report of Nsight Compute does not hold it",
    "launches_without_time": "some launch has no time",
    "no_bytes": "no bytes moved",
    "no_clock_readings": "no clock was read",
    "no_cuda_device": "the run was on the CPU",
    "no_device": "the run was on the CPU",
    "no_flop": "it does no FLOP",
    "no_kernel_time": "the kernel has no time",
    "no_kernels": "no kernel was launched",
    "no_reference": "no reference was given",
    "not_above_zero": "a time is not above 0",
    "not_checked": "nobody looked",
    "not_collected": "the run holds no evidence of it",
    "not_finite": "the number is not finite",
    "not_measured": "it is no part of the run",
    "not_profiled": "it was not profiled",
    "not_requested": "nobody asked for it",
    "nothing_counted": "there was nothing to count",
    "nothing_to_build": "there was nothing to build",
    "nothing_to_do": "the task moves nothing",
    "of_the_whole_task": "it is a number of the whole task",
    "per_launch_only": "each launch has one of its own",
    "profiler_overlap": "what the profiler saw overlaps",
    "ref_peak_is_zero": "the reference allocates nothing",
    "resolution_unknown": "the step of the timer is not known",
    "spec_unknown": "the board's peaks are not known",
    "states_incomplete": "some warp states were not counted",
    "too_few_repeats": "too few processes",
    "too_few_samples": "too few samples",
    "too_little_traffic": "too little traffic",
    "warm_only": "it has no cold state",
}
"""Of codes that stand for a null without a sentence of their own in the report."""


class Reasoned(Protocol):
    """A block: the reason of its status, and warnings."""

    @property
    def reason(self) -> Reason | None: ...

    @property
    def warnings(self) -> tuple[Reason, ...]: ...


def sentence(code: str, *blocks: Reasoned) -> str:
    """Why, in words: what a block says of that code, else what the code stands for, else its own words."""
    if code in _SENTENCES:
        return _SENTENCES[code]
    told = [one for block in blocks for one in (block.reason, *block.warnings) if one is not None and one.code == code]
    return told[0].message if told else words(code)


def because(code: str, *blocks: Reasoned) -> str:
    """`sentence`, with the code behind it where it says more: ``no reference was given (no_reference)``."""
    said = sentence(code, *blocks)
    return said if said == words(code) else f"{said} ({code})"


def words(code: str) -> str:
    """A code as words."""
    return code.replace("_", " ")


def null_cell(block: Explained, path: str) -> str:
    """Why a cell of a table has no number; it has no room for a sentence."""
    return words(absent(block, path))
