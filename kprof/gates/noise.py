"""How much a number of a report moves by itself, from one process to the next.

A time has noise within its process, which its samples show, and noise between processes, which they do not: the median
of device time of one and the same kernel differs from process to process by more than any interval from one process'
samples says. Fresh timing processes (``--repeats``) measure it; without them a prior stands in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any, Final

from kprof.evidence import Reason, Record, Side
from kprof.figures import duration
from kprof.gates.fields import Step
from kprof.gates.paths import MetricPath, finite, part
from kprof.statistics import log_quantile, spread_between_runs

PRIOR_SPREADS: Final = ((10.0, 0.005), (3.0, 0.01), (1.7, 0.02), (0.0, 0.03))
"""From this many us on, the medians of fresh processes spread by this share: the largest less the smallest of eight
processes of one kernel on an H200 were 0.3-0.45 % from 10 us, 0.9 % at 3.6 us and 2 % at 1.5 us. Of twelve processes on
two other boards they were 3.2 % at 2.0 us and 7 % at 1.4 us, most of that two speeds, which the lower quartile answers
for; with 2 % there 2 of 144 pairs were false alarms, and ``mde_pct`` was a third too small (``benchmarks/ab``)."""
OTHER_BOARD_SPREAD: Final = 0.03
"""The same where the boards are two of one model, which differ in clock, temperature and memory."""
HOST_SPREAD: Final = 0.2
"""The same of times that a host's clock read, where what else the machine does is in them: 5 and 20 % were seen between
three processes on a shared machine of two cores."""
PRIOR_RUNS: Final = 4
"""How many processes the prior counts for beside those that were measured."""
RANGE_OF_EIGHT: Final = 2.847
"""Mean range of eight normal values in standard deviations (d2 in tables for control charts): turns a spread into a
standard deviation."""
EXACT_UNITS: Final = frozenset({"count", "bytes", "MB", "index", "bool", "FLOP", "output"})
"""Numbers that repeat exactly, or whose change is of the result itself."""
_RESULTS: Final = {
    "kernel_us": (1, 0),
    "kernel_cycles": (1, 0),
    "ref_us": (0, 1),
    "ref_cycles": (0, 1),
    "speedup": (-1, 1),
}
_OF_SOL: Final = {"task_score": (-1, 0), "headroom": (1, 0)}
_OF_VIEW: Final = {"kernel_median_us": (1, 0), "ref_median_us": (0, 1), "speedup": (-1, 1)}
_SIDES: Final[tuple[Side, ...]] = ("kernel", "ref")


class Timed(Record, frozen=True, kw_only=True):
    """Which samples a metric is made of: it goes as kernel time and reference time to these powers."""

    view: str
    cache: str
    powers: tuple[int, int]


class Moved(Record, frozen=True, kw_only=True):
    """How a quantile of the samples moved: grouped data, so that it does not jump by whole steps of the timer."""

    beside_value: float
    """By how much more its logarithm moved than that of the value in the report."""
    log_error: float
    """Standard error of that move."""


class Noise(Record, frozen=True, kw_only=True):
    """What is known of the noise of ``value / baseline``.

    A short kernel can have two speeds: on an H200 one of 1.4 us took 1.41 or 1.54 us, call by call, and the median of
    200 calls fell on either from process to process, 6.6 % apart, while the lower quartile stayed within 2.2 %. A
    kernel that became slower moves both, or moves its median past what was the slower quarter.
    """

    median: Moved | None
    """None: not known. An error of 0: the number repeats exactly."""
    quartile: Moved | None = None
    """The lower quartile; None: there are no samples."""
    quartile_distance: float = 0.0
    """Logarithm of how far the baseline's own quartiles lie from its median, the farther of the two."""
    step: float = 0.0
    """Relative difference that one step of the timers makes."""
    below_steps: float | None = None
    """Time over its timer's step: of two reports the longer, of two sides the shorter; None: no timer's."""
    warnings: tuple[Reason, ...] = ()


def noise_of(path: MetricPath, report: dict[str, Any], baseline: dict[str, Any]) -> Noise:
    """The noise of the ratio of what both reports have at ``path``."""
    timed = timed_by(path.launch is None, path.steps, report)
    if timed is None:
        if path.field.unit in EXACT_UNITS:
            return Noise(median=Moved(beside_value=0.0, log_error=0.0))
        message = f"{path.text} is one number a run: what it moves by from run to run is not known"
        return Noise(median=None, warnings=(Reason(code="noise_unknown", message=message),))
    return _timed_noise(timed, report, baseline)


def beside_samples(path: MetricPath, report: dict[str, Any]) -> str | None:
    """The time at ``path`` can be no median of its own samples; None: it can, or there are none."""
    timed, time_us = timed_by(path.launch is None, path.steps, report), finite(part(report, "blocks", *path.steps))
    if timed is None or time_us is None or sum(map(abs, timed.powers)) != 1 or path.field.unit != "us":
        return None
    samples = _samples(report, timed.view, _SIDES[timed.powers.index(1)])
    if not samples or min(samples) <= time_us <= max(samples):
        return None
    low, high = duration(min(samples)), duration(max(samples))
    return f"{path.text} is {duration(time_us)}, and its samples are from {low} to {high}"


def timed_by(in_block: bool, steps: tuple[Step, ...], report: dict[str, Any]) -> Timed | None:
    """The samples behind a metric; None: it has none."""
    timing = part(report, "blocks", "timing")
    headline = (part(timing, "headline_view"), part(timing, "headline_cache"))
    if not in_block or not all(isinstance(one, str) for one in headline):
        return None
    table = _RESULTS if steps[0] == "timing" else _OF_SOL if steps[0] == "sol" else {}
    name = str(steps[-1])
    if len(steps) == 2 and name in table:
        return Timed(view=headline[0], cache=headline[1], powers=table[name])
    if steps[0] == "timing" and len(steps) == 4 and name in _OF_VIEW:
        view, cache = str(steps[1]), str(steps[2])
        sampled = part(timing, "samples_us", view, "cache") == cache
        return Timed(view=view, cache=cache, powers=_OF_VIEW[name]) if sampled else None
    return None


def _timed_noise(timed: Timed, report: dict[str, Any], baseline: dict[str, Any]) -> Noise:
    sides = [
        _side_noise(timed, side, power, (report, baseline))
        for side, power in zip(_SIDES, timed.powers, strict=True)
        if power != 0
    ]
    warnings = [warning for one in sides for warning in one.warnings]
    median_moved = _together([one.median for one in sides])
    if median_moved is None:
        warnings.append(Reason(code="too_few_samples", message="there are too few samples for the noise within a run"))
    return Noise(
        median=median_moved,
        quartile=_together([one.quartile for one in sides]),
        quartile_distance=sum(one.quartile_distance for one in sides),
        step=sum(one.step for one in sides),
        below_steps=min((one.below_steps for one in sides if one.below_steps is not None), default=None),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _together(moved: Sequence[Moved | None]) -> Moved | None:
    """The move of a product, of those of its factors."""
    known = [one for one in moved if one is not None]
    if len(known) < len(moved):
        return None
    log_error = math.hypot(*(one.log_error for one in known))
    return Moved(beside_value=sum(one.beside_value for one in known), log_error=log_error)


def _side_noise(timed: Timed, side: Side, power: int, reports: tuple[dict[str, Any], dict[str, Any]]) -> Noise:
    samples = [_samples(one, timed.view, side) for one in reports]
    steps_us = [_step_us(one, timed, side) for one in reports]
    medians = [median(one) if one else math.nan for one in samples]
    shares = [step_us / time_us for step_us, time_us in zip(steps_us, medians, strict=True) if time_us > 0]
    between = _between(timed, side, reports, medians)

    def moved(share: float) -> Moved | None:
        now, then = (log_quantile(one, share, step_us) for one, step_us in zip(samples, steps_us, strict=True))
        if now is None or then is None:
            return None
        beside = (now.value - math.log(medians[0])) - (then.value - math.log(medians[1]))
        return Moved(beside_value=power * beside, log_error=math.sqrt(now.variance + then.variance + 2.0 * between**2))

    return Noise(
        median=moved(0.5),
        quartile=moved(0.25),
        quartile_distance=_quartile_distance(samples[1], steps_us[1]),
        step=max(shares, default=0.0),
        below_steps=max((1.0 / share for share in shares if share > 0), default=None),
        warnings=tuple(_estimators_differ(timed, side, *reports)),
    )


def _quartile_distance(samples: Sequence[float], step_us: float) -> float:
    found = [log_quantile(samples, share, step_us) for share in (0.25, 0.5, 0.75)]
    low, middle, high = (one.value if one is not None else 0.0 for one in found)
    return max(high - middle, middle - low)


def _samples(report: dict[str, Any], view: str, side: Side) -> list[float]:
    listed = part(report, "blocks", "timing", "samples_us", view, side)
    if not isinstance(listed, list):
        return []
    numbers = [finite(one) for one in listed]
    return [] if None in numbers else [one for one in numbers if one is not None]


def _step_us(report: dict[str, Any], timed: Timed, side: Side) -> float:
    """Of the headline's timer; of another view 0, which its samples do not say."""
    if timed.view != part(report, "blocks", "timing", "headline_view"):
        return 0.0
    step = finite(part(report, "blocks", "timing", f"{side}_step_us"))
    return max(step or 0.0, 0.0)


def _between(
    timed: Timed, side: Side, reports: tuple[dict[str, Any], dict[str, Any]], medians: Sequence[float]
) -> float:
    """Standard deviation between processes: the prior, drawn towards what repeats say."""
    other_board = other_boards(*reports) or bool(_estimators_differ(timed, side, *reports))
    prior = HOST_SPREAD if timed.view.startswith("host") else prior_spread(min(medians))
    prior = max(prior, OTHER_BOARD_SPREAD) if other_board else prior
    groups = [_repeats(report, timed, side) for report in reports]
    return spread_between_runs(groups, prior / RANGE_OF_EIGHT, prior_runs=PRIOR_RUNS)


def prior_spread(time_us: float) -> float:
    """Spread (a share) to expect between medians of fresh processes, for a time in us."""
    return next((spread for start, spread in PRIOR_SPREADS if time_us >= start), PRIOR_SPREADS[-1][1])


def other_boards(report: dict[str, Any], baseline: dict[str, Any]) -> bool:
    """Both reports say which board they are from, and it is not the same one."""
    one, other = (part(each, "environment", "gpu_uuid") for each in (report, baseline))
    return one is not None and other is not None and one != other


def _estimator(report: dict[str, Any], timed: Timed, side: Side) -> str | None:
    name = (
        part(report, "blocks", "timing", "device", timed.cache, f"{side}_estimator") if timed.view == "device" else None
    )
    return name if isinstance(name, str) else None


def _estimators_differ(timed: Timed, side: Side, report: dict[str, Any], baseline: dict[str, Any]) -> list[Reason]:
    one, other = (_estimator(each, timed, side) for each in (report, baseline))
    if one == other or one is None or other is None:
        return []
    message = f"{side} was timed by {one}, in the baseline by {other}: the two differ by up to 5 %"
    return [Reason(code="other_timer", message=message, hint="A larger problem is timed by one of them always.")]


def _repeats(report: dict[str, Any], timed: Timed, side: Side) -> list[float]:
    """Medians of all timing processes of one report by the headline's timer, the first process' own among them."""
    timer = _estimator(report, timed, side) or timed.view
    listed = part(report, "blocks", "timing", "repeats")
    for one in listed if isinstance(listed, list) else ():
        if part(one, "timer") == timer and part(one, "cache") == timed.cache:
            repeated = part(one, f"{side}_us")
            if isinstance(repeated, list) and repeated:
                # Raw, as the repeats are: an event pair's own reading is taken off in the view `device` alone.
                first = part(report, "blocks", "timing", "event" if timer == "event" else timed.view, timed.cache)
                medians = map(finite, (part(first, f"{side}_median_us"), *repeated))
                return [us for us in medians if us is not None and us > 0]
    return []
