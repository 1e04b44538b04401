"""What no measurement can give: a time of nothing or less, more than all of a whole."""

from __future__ import annotations

from typing import Final

from kprof.evidence import LEAST_TIME_US

IMPOSSIBLE_TIME: Final = "impossible_time"
IMPOSSIBLE_SHARE: Final = "impossible_share"
_TIMES: Final = frozenset({"kernel_us", "ref_us", "duration_us", "profiled_us"})
_TIME_ENDS: Final = ("_median_us", "_mean_us", "_min_us", "_p95_us")
_OF_TIMES: Final = frozenset({"kernel_cycles", "ref_cycles", "speedup", "task_score", "headroom"})
"""Made of times, and as little 0 or negative as they are."""
_SHARES: Final = frozenset(
    {"l1_hit_pct", "l2_hit_pct", "ld_efficiency_pct", "st_efficiency_pct", "theoretical_pct", "share_pct",
     "time_share_pct"}
)  # fmt: skip
"""Parts of a whole. Shares of a peak are not among them: a counter may read a little over it (`kprof.audit`)."""
_ALL_PCT: Final = 100.05
"""All of a whole, rounding allowed for."""


def impossible(name: str, value: float) -> tuple[str, str] | None:
    """A code and a sentence where the field ``name`` can never be ``value``; None: it can, for all that is known."""
    if (name in _TIMES or name.endswith(_TIME_ENDS)) and value < LEAST_TIME_US:
        return IMPOSSIBLE_TIME, f"{name} is {value:g} us, which no clock can tell from nothing"
    if name in _OF_TIMES and value <= 0:
        return IMPOSSIBLE_TIME, f"{name} is {value:g}, which no times can give"
    if name in _SHARES and not 0 <= value <= _ALL_PCT:
        return IMPOSSIBLE_SHARE, f"{name} is {value:.4g} %, outside 0 to 100 %"
    return None
