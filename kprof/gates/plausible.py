"""Reasons to believe no number of a report, or not this one: a wrong result, a time below the floor."""

from __future__ import annotations

from typing import Any, Final

from kprof.figures import GROUPED, duration, factor
from kprof.gates.paths import MetricPath, finite, part

STEP_AT_MOST: Final = 10.0
"""An improvement by this factor in one step is more often a broken measurement than a better kernel."""
_ROUNDING: Final = 1e-9
_MOST_SHOWN: Final = 40
"""Characters of a value that no report has."""
_SPEED_UNITS: Final = frozenset({"us", "s", "cycles", "ratio", "GB/s", "TFLOP/s", "%"})
"""Units in which ten times better is hard to believe. Launches can go from twenty to one."""
_OF_THE_RESULT: Final = frozenset({"precision", "integrity", "build"})
_KERNEL_TIMES: Final = frozenset(
    {"kernel_us", "kernel_cycles", "speedup", "task_score", "headroom", "kernel_median_us"}
)


def wrong_result(report: dict[str, Any]) -> str | None:
    """Why the kernel's result cannot be used; None: nothing says so."""
    for block in ("precision", "integrity"):
        passed = part(report, "blocks", block, "passed")
        if passed is not None and not isinstance(passed, bool):
            shown = repr(passed)
            told = shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}..."
            return f"{block}.passed is {told}, which is neither true nor false, so that the result is not right"
    if part(report, "blocks", "precision", "passed") is False:
        agreed, trials = (part(report, "blocks", "precision", name) for name in ("trials_passed", "trials_requested"))
        counted = f": {agreed} of {trials} trials agree" if trials is not None else ""
        return f"the kernel's result is wrong{counted}"
    if part(report, "blocks", "integrity", "passed") is False:
        checks = part(report, "blocks", "integrity", "checks")
        listed = checks if isinstance(checks, list) else []
        failed = [str(part(one, "name")) for one in listed if part(one, "passed") is False]
        return f"the kernel did not do the work it was timed for: {', '.join(failed) or 'a check failed'}"
    return None


def depends_on_result(path: MetricPath) -> bool:
    """What the value says is of no use when the result is wrong."""
    return path.launch is not None or path.block not in _OF_THE_RESULT


def past_the_floor(path: MetricPath, report: dict[str, Any]) -> str | None:
    """The kernel's time lies under the least time that its task could take; None: it does not, or nobody knows."""
    sol = part(report, "blocks", "sol")
    kernel_us, floor_us = finite(part(report, "blocks", "timing", "kernel_us")), finite(part(sol, "floor_us"))
    if path.launch is not None or path.steps[-1] not in _KERNEL_TIMES or part(sol, "floor_kind") == "upper_estimate":
        return None
    if kernel_us is None or floor_us is None or kernel_us >= floor_us:
        return None
    return f"the kernel's {duration(kernel_us)} lie under the floor of its task, {duration(floor_us)}"


def in_words(ratio: float) -> str:
    """A factor to three digits, without an exponent: ``12.3x``, ``2,130x``, ``8,640,000x``."""
    return factor(ratio) if ratio >= GROUPED else f"{ratio:.3g}x"


def leaps(path: MetricPath, better_by: float) -> bool:
    """Better by a factor that one change of a kernel hardly makes."""
    return path.field.unit in _SPEED_UNITS and better_by >= STEP_AT_MOST * (1.0 - _ROUNDING)
