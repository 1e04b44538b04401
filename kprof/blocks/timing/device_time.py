"""Device time: which estimator has the least bias for a kernel of this size, and does a second one agree.

No timer measures device time without bias. An event pair reads what an empty pair reads too much, and a little more
after that is taken off; CUPTI slows kernels of very many blocks; the slope of a CUDA graph has neither fault, exists
only warm, and serves calls of one kernel alone: several kernels follow each other closer in a graph than on a stream
(nine kernels of torch.logsumexp on an H200: 13.4 us a call in a graph, 20.2 on a stream by CUPTI, 20.4 by events). The
numbers in `KnownBiases` decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from kprof.blocks.timing.views import CrossCheck
from kprof.capture import Capture
from kprof.evidence import Cache, Record, Series, Side, Timer
from kprof.launches_evidence import Launch
from kprof.statistics import median

METHODS: Final[dict[Timer, str]] = {
    "cupti": "CUPTI span over all streams",
    "event": "calibrated events behind a pre-filled queue",
    "graph": "slope over replays of a CUDA graph",
    "host": "perf_counter round one call and a synchronise",
    "host_stream": "many calls, one synchronise, per call",
}
EVENTS_RAW: Final = "events behind a pre-filled queue, not calibrated"
DEFAULT_STEPS_US: Final[dict[Timer, float]] = {"cupti": 0.032, "event": 0.5}
"""Steps of timers whose series does not say: CUPTI's as seen on an H200, events' as the CUDA runtime documents it."""


class KnownBiases(Record, frozen=True, kw_only=True):
    """How far each timer is off, and the borders that follow from it.

    Measured on an H200 (driver 580, torch 2.11) on logsumexp at five sizes from 1.2 to 235 us, as one kernel in CUDA
    and in Triton and as the nine of torch.logsumexp, each timed by events behind a pre-filled queue, by the slope of
    graphs and by CUPTI.
    """

    events_from_us: dict[Cache, float] = msgspec.field(default_factory=lambda: {"cold": 50.0, "warm": 20.0})
    """From here on what is left of the events' bias is small against the time; below it, graph or CUPTI."""
    events_check_from_us: float = 10.0
    """Below this an event pair is no cross-check: its leftover bias is a tenth of the time."""
    events_excess_us: dict[Cache, tuple[float, float]] = msgspec.field(
        default_factory=lambda: {"cold": (0.2, 1.3), "warm": (0.0, 0.9)}
    )
    """Calibrated events read this much too much (cold: the kernel's code and arguments come from DRAM first) ..."""
    events_excess_per_launch_us: float = 0.3
    """... and this much more, at any size, for each launch after the first: launches follow each other closer under
    CUPTI, by an amount that each process has of its own ..."""
    events_excess_below_us: float = 50.0
    """... up to this size."""
    cupti_excess: float = 0.05
    """CUPTI slows a kernel of many blocks by up to this share ..."""
    cupti_excess_above_blocks: int = 20_000
    """... from this many blocks."""
    cupti_excess_per_launch_us: float = 0.2
    """In other processes it keeps launches apart, by up to this much for each after the first (nine kernels in 77
    processes: events read from 1.5 us less than CUPTI to 3.0 us more)."""
    graph_gap_us: float = 0.25
    """The slope of a graph holds the gap to the next node, up to this much."""
    disagree_share: float = 0.03
    disagree_us: float = 0.5
    """Two estimators disagree when the biases leave more than this share, and more than this time, unexplained."""
    one_estimator_within: float = 2.0
    """Sides within this factor of each other share an estimator, so that its bias cancels in their ratio."""


KNOWN: Final = KnownBiases()


class Estimate(Record, frozen=True, kw_only=True):
    """One side's device time by one timer, what the timer reads round nothing taken off."""

    timer: Timer
    cache: Cache
    samples: tuple[float, ...]
    count: int
    dropped_by_clock: int
    median_us: float
    step_us: float | None
    calibrated: bool
    trusted: bool
    """False: host time is inside, or the timer does not see the stream that the work runs on."""

    @property
    def method(self) -> str:
        return METHODS[self.timer] if self.calibrated else EVENTS_RAW


Candidates = Mapping[Timer, Estimate]


def all_series(capture: Capture) -> tuple[Series, ...]:
    """Every series of a capture, those of the profiler's process last."""
    timing = capture.timing.series if capture.timing else ()
    return (*timing, *(capture.launches.series if capture.launches else ()))


def off_current_stream(capture: Capture) -> bool | None:
    """The kernel does not launch on torch's current stream; None: nobody looked."""
    seen = [
        evidence.kernel_off_current_stream
        for evidence in (capture.timing, capture.launches)
        if evidence is not None and evidence.kernel_off_current_stream is not None
    ]
    return any(seen) if seen else None


def step_us(series: Series) -> float | None:
    """The smallest difference that one sample can show."""
    return series.resolution_us if series.resolution_us is not None else DEFAULT_STEPS_US.get(series.timer)


def candidates(capture: Capture, cache: Cache, side: Side) -> dict[Timer, Estimate]:
    """What each timer says of the device time of ``side``."""
    found: dict[Timer, Estimate] = {}
    for series in all_series(capture):
        samples = series.kernel_us if side == "kernel" else series.ref_us
        if series.timer == "graph" and launch_count(capture, side) > 1:
            continue
        if series.timer in ("cupti", "event", "graph") and series.cache == cache and samples:
            found.setdefault(series.timer, _estimate(capture, series, side, samples))
    event = found.get("event")
    if event is not None and side == "kernel" and off_current_stream(capture) and not _events_see(found):
        found["event"] = msgspec.structs.replace(event, trusted=False)
    return found


def _estimate(capture: Capture, series: Series, side: Side, samples: tuple[float, ...]) -> Estimate:
    is_event = series.timer == "event"
    bias = (series.bias_us or 0.0) / max(series.calls_per_sample, 1) if is_event else 0.0
    calibrated = tuple(sample - bias for sample in samples)
    overtaken = series.queue_kept_full is False
    # The span of a single piece of device work has no gap in it, however late it was enqueued.
    one_piece = series.timer == "cupti" and launch_count(capture, side) == 1
    return Estimate(
        timer=series.timer,
        cache=series.cache,
        samples=calibrated,
        count=series.kernel_count if side == "kernel" else series.ref_count,
        dropped_by_clock=series.dropped_by_clock,
        median_us=median(calibrated) or 0.0,
        step_us=step_us(series),
        calibrated=not is_event or series.bias_us is not None,
        trusted=one_piece or not overtaken,
    )


def _events_see(found: Candidates) -> bool:
    """Events read no less than CUPTI, its own excess allowed for: they do see what is off the current stream.

    That is so for work on the legacy default stream, which waits for torch's and which torch's waits for.
    """
    event, cupti = found.get("event"), found.get("cupti")
    if event is None or cupti is None:
        return False
    return event.median_us >= cupti.median_us / (1.0 + KNOWN.cupti_excess) - KNOWN.disagree_us


def choose(found: Candidates) -> Estimate | None:
    """The estimator with the least bias: graph, or else CUPTI, for short calls; calibrated events for long ones."""
    short = found.get("graph") or found.get("cupti")
    event = found.get("event")
    if short is None or event is None:
        return short or event
    if not event.trusted:
        return short
    # Host time inside a sample only adds to it: of a timer with some inside and one without, the lower is nearer.
    if not short.trusted and event.median_us < short.median_us:
        return event
    return event if short.median_us >= KNOWN.events_from_us[short.cache] else short


def choose_pair(kernel: Candidates, ref: Candidates) -> tuple[Estimate | None, Estimate | None]:
    """The estimator of each side; one for both, the smaller side's, where they are of like size."""
    first, second = choose(kernel), choose(ref)
    if first is None or second is None or first.timer == second.timer:
        return first, second
    small, large = sorted((first.median_us, second.median_us))
    if large > small * KNOWN.one_estimator_within:
        return first, second
    for timer in (first.timer, second.timer) if first.median_us <= second.median_us else (second.timer, first.timer):
        if timer in kernel and timer in ref:
            return kernel[timer], ref[timer]
    return first, second


def second_opinion(chosen: Estimate, found: Candidates) -> Estimate | None:
    """The estimator to hold against the chosen one, where another one is fit for that."""
    for timer in ("graph", "cupti", "event"):
        other = found.get(timer)
        if other is None or timer == chosen.timer or not other.trusted:
            continue
        if timer != "event" or chosen.median_us >= KNOWN.events_check_from_us:
            return other
    return None


def why_no_second(chosen: Estimate, found: Candidates) -> str:
    """The code for a cross-check that could not be made."""
    event = found.get("event")
    too_short = event is not None and event.trusted and chosen.timer != "event"
    return "too_short_for_events" if too_short else "single_estimator"


def cross_check(chosen: Estimate, other: Estimate, blocks: int | None, launches: int = 1) -> CrossCheck:
    """Hold ``other`` against ``chosen``.

    Args:
        chosen: the estimator in use.
        other: a second one.
        blocks: blocks of the side's largest grid; None: not known.
        launches: of one call.
    """
    low, high = _true_range(chosen, blocks, launches)
    other_low, other_high = _true_range(other, blocks, launches)
    unexplained = max(0.0, low - other_high, other_low - high)
    limit = max(KNOWN.disagree_share * chosen.median_us, KNOWN.disagree_us)
    return CrossCheck(
        timer=other.timer,
        median_us=other.median_us,
        difference_us=other.median_us - chosen.median_us,
        unexplained_us=unexplained,
        agrees=unexplained <= limit,
    )


def _true_range(estimate: Estimate, blocks: int | None, launches: int) -> tuple[float, float]:
    """Where the true time lies, if the known biases are all there is, us."""
    reading = estimate.median_us
    if estimate.timer == "event":
        short = reading < KNOWN.events_excess_below_us
        least, most = KNOWN.events_excess_us[estimate.cache] if short else (0.0, 0.0)
        return reading - most - KNOWN.events_excess_per_launch_us * max(0, launches - 1), reading - least
    if estimate.timer == "cupti":
        slowed = blocks is not None and blocks > KNOWN.cupti_excess_above_blocks
        least = reading / (1.0 + KNOWN.cupti_excess) if slowed else reading
        return least - KNOWN.cupti_excess_per_launch_us * max(0, launches - 1), reading
    if estimate.timer == "graph":
        return reading - KNOWN.graph_gap_us, reading
    return reading, reading


def largest_grid(capture: Capture, side: Side) -> int | None:
    """Blocks of the largest grid that ``side`` launches; None: not known."""
    grids = [launch.grid for launch in _launches(capture, side) if launch.grid is not None]
    return max((x * y * z for x, y, z in grids), default=None)


def launch_count(capture: Capture, side: Side) -> int:
    return len(_launches(capture, side))


def _launches(capture: Capture, side: Side) -> tuple[Launch, ...]:
    evidence = capture.launches
    of_side = None if evidence is None else (evidence.kernel if side == "kernel" else evidence.ref)
    return of_side.launches if of_side is not None else ()
