"""In what two reports differ beside the kernel: task, board, clocks, software."""

from __future__ import annotations

from typing import Any, Final

from kprof.comparison.records import Difference
from kprof.gates.comparability import IDENTITY, UNKNOWN, other_conditions, other_task
from kprof.gates.comparability import Difference as Unlike
from kprof.gates.noise import other_boards
from kprof.gates.paths import parse_path, part
from kprof.gates.regressions import CLOCKS_DIFFER

_BAR: Final = frozenset(
    {"ref_sha256", "overrides", "seed", "ref_mode", "shapes", "dtypes", "board", "compute_capability", "sm_count",
     "memory_bytes", "clock_policy", "cpu_threads", "headline_view", "headline_cache", "sm_clock"}
)  # fmt: skip
"""Another task, another board, another clock, another view of time. What else differs is said, and is often on purpose:
versions of software, the options of ncu, the name of the class."""
_MUST_BE_KNOWN: Final = frozenset({*IDENTITY, "board"})
"""Not known on one side is not known to be the same; of other things it is no difference."""
_SHA_SHOWN: Final = 12
_TIME: Final = parse_path("timing.kernel_us")
_COUNTER: Final = parse_path("roofline.dram_bandwidth_gbs")


def differences(a: dict[str, Any], b: dict[str, Any]) -> tuple[Difference, ...]:
    """What stands first in a comparison, what bars a verdict before the rest. Reports as plain values."""
    found = [*other_task(b, a), *other_conditions(_TIME, b, a), *other_conditions(_COUNTER, b, a)]
    told = [_difference(one) for one in dict.fromkeys(found) if _is_difference(one)]
    told += [*_clocks(a, b), *_boards(a, b)]
    return tuple(sorted(told, key=lambda one: not one.bars_verdict))


def _is_difference(one: Unlike) -> bool:
    return one.name in _MUST_BE_KNOWN or UNKNOWN not in (one.report, one.baseline)


def _difference(one: Unlike) -> Difference:
    # `Unlike` is of a report against its baseline: of b against a.
    values = (one.baseline, one.report)
    if one.name.endswith("sha256"):
        values = (_cut(values[0]), _cut(values[1]))
    return Difference(name=one.name, a=values[0], b=values[1], bars_verdict=one.name in _BAR)


def _cut(digest: str) -> str:
    return digest if digest == UNKNOWN else digest[:_SHA_SHOWN]


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
