"""In what two reports differ beside the kernel: task, board, clocks, software."""

from __future__ import annotations

from typing import Any, Final

from kprof.comparison.records import Difference
from kprof.gates.comparability import UNKNOWN, other_conditions, other_task
from kprof.gates.comparability import Difference as Unlike
from kprof.gates.noise import other_boards
from kprof.gates.paths import parse_path, part
from kprof.gates.regressions import CLOCKS_DIFFER

_SAID_ALONE: Final = frozenset({"driver", "cuda", "torch", "triton", "ncu", "entry"})
"""Differences that are said and leave the verdict: what a user changes on purpose, or cannot help."""
_TIME: Final = parse_path("timing.kernel_us")
_COUNTER: Final = parse_path("roofline.dram_bandwidth_gbs")


def differences(a: dict[str, Any], b: dict[str, Any]) -> tuple[Difference, ...]:
    """What stands first in a comparison, what bars a verdict before the rest. Reports as plain values."""
    found = [*other_task(b, a), *other_conditions(_TIME, b, a), *other_conditions(_COUNTER, b, a)]
    told = [_difference(one) for one in dict.fromkeys(found) if not _of_one_alone(one)]
    told += [*_clocks(a, b), *_boards(a, b)]
    return tuple(sorted(told, key=lambda one: not one.bars_verdict))


def _difference(one: Unlike) -> Difference:
    # `Unlike` is of a report against its baseline: of b against a.
    return Difference(name=one.name, a=one.baseline, b=one.report, bars_verdict=one.name not in _SAID_ALONE)


def _of_one_alone(one: Unlike) -> bool:
    """Only one of the two kernels is written in Triton: that is part of what is compared."""
    return one.name == "triton" and UNKNOWN in (one.report, one.baseline)


def _clocks(a: dict[str, Any], b: dict[str, Any]) -> list[Difference]:
    """SM clocks while the headline was timed."""
    clocks = [part(one, "blocks", "timing", "sm_clock_mhz") for one in (a, b)]
    if not all(isinstance(one, (int, float)) and one > 0 for one in clocks):
        return []
    if abs(clocks[1] / clocks[0] - 1.0) <= CLOCKS_DIFFER:
        return []
    shown = [f"{one:.0f} MHz" for one in clocks]
    return [Difference(name="sm_clock", a=shown[0], b=shown[1], bars_verdict=True)]


def _boards(a: dict[str, Any], b: dict[str, Any]) -> list[Difference]:
    """Two boards of one model: the noise is larger, and that is all."""
    if not other_boards(a, b):
        return []
    one, other = (str(part(each, "environment", "gpu_uuid")) for each in (a, b))
    return [Difference(name="gpu_uuid", a=one, b=other, bars_verdict=False)]
