"""The sampling loop: kernel and reference in turn, in groups between readings of the clock, until it is enough.

Interleaving (A B B A) makes drift cancel in the ratio. What is left out is left out by clock, never by value.
"""

from __future__ import annotations

import gc
import math
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter, sleep  # By name: user code may replace the module's functions.
from typing import Final

from kprof.collectors.timing.witness import Witness
from kprof.evidence import Cache, ClockGroup, ClockReading, Series, Side, Timer

MAX_KEPT: Final = 1000
"""Samples of a side that evidence keeps; more are thinned evenly."""


@dataclass(frozen=True)
class SamplingPolicy:
    """When a series is long enough."""

    min_samples: int = 100
    """Before a series may end because its interval is narrow."""
    floor_samples: int = 30
    """Before it may end because its budget is spent."""
    max_samples: int = 1000
    budget_s: float = 0.35
    """Wall time for both sides together; until ``floor_samples`` are there it may take four times this."""
    target: float = 0.0015
    """Half width of the median's 95 % interval, relative, that ends a series."""
    group_s: float = 0.02
    """Least wall time of a group between two clock readings (NVML's clocks move in steps of some milliseconds)."""
    stray: float = 0.02
    """A group whose clock before or after is further than this from the run's median clock is dropped."""
    duty: float = 0.3
    """Largest share of the time that the device may be busy: more reaches the power cap and lowers the clock."""


@dataclass
class _Group:
    before: ClockReading | None
    samples: dict[Side, list[float]] = field(default_factory=dict)
    after: ClockReading | None = None
    dropped: bool = False


@dataclass(frozen=True)
class Sampled:
    """What a sampling loop brought."""

    samples: dict[Side, tuple[float, ...]]
    groups: tuple[ClockGroup, ...]
    dropped: int
    preemptions: int

    def series(self, timer: Timer, cache: Cache, **details: object) -> Series:
        """As evidence, thinned evenly to `MAX_KEPT` samples a side."""
        kernel, ref = self.samples.get("kernel", ()), self.samples.get("ref", ())
        return Series(
            timer=timer,
            cache=cache,
            kernel_us=thin(kernel, MAX_KEPT),
            ref_us=thin(ref, MAX_KEPT),
            kernel_count=len(kernel),
            ref_count=len(ref),
            dropped_by_clock=self.dropped,
            preemptions=self.preemptions,
            **details,  # type: ignore[arg-type]
        )


def take_samples(
    take: Callable[[Side], float],
    sides: tuple[Side, ...],
    policy: SamplingPolicy,
    *,
    timer: Timer,
    cache: Cache,
    read_clock: Callable[[], ClockReading | None] = lambda: None,
    busy_us: Callable[[float], float] | None = None,
    witness: Witness | None = None,
) -> Sampled:
    """Sample ``sides`` in turn until the policy is met.

    Args:
        take: takes one sample of a side, in microseconds.
        sides: the sides there are, in the order of the first turn.
        policy: when it is enough.
        timer: named in the clock groups.
        cache: named in the clock groups.
        read_clock: reads the clock between groups; None where there is none.
        busy_us: device time of a sample, from its value; given, the loop rests to keep the duty cycle.
        witness: looks at samples of its own, taken between the others.
    """
    witness = witness or Witness()

    def take_watched(side: Side) -> float:
        # One line for all samples: a kernel that looks at its callers sees the same ones every time.
        while True:
            watched = witness.prepare(side)
            us = take(side)
            if not watched:
                return us
            witness.conclude(timer, cache, us)

    groups: list[_Group] = []
    began = perf_counter()
    preempted_before = preemptions()
    with _no_collection():
        clock = read_clock()
        while witness.owes or not _enough(groups, sides, policy, perf_counter() - began):
            group = _Group(before=clock)
            groups.append(group)
            _fill(group, take_watched, sides, policy, busy_us)
            clock = group.after = read_clock()
    _drop_stray(groups, policy.stray)
    kept = {side: tuple(us for g in groups if not g.dropped for us in g.samples.get(side, ())) for side in sides}
    return Sampled(
        samples=kept,
        groups=tuple(
            ClockGroup(timer=timer, cache=cache, before=g.before, after=g.after, dropped=g.dropped)
            for g in groups
            if g.before is not None and g.after is not None
        ),
        dropped=sum(len(values) for g in groups if g.dropped for values in g.samples.values()),
        preemptions=preemptions() - preempted_before,
    )


def preemptions() -> int:
    """How often the system took a processor from this process so far: not a wait of its own."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def _fill(
    group: _Group,
    take: Callable[[Side], float],
    sides: tuple[Side, ...],
    policy: SamplingPolicy,
    busy_us: Callable[[float], float] | None,
) -> None:
    until = perf_counter() + policy.group_s
    while True:
        for side in (*sides, *reversed(sides)):
            value = take(side)
            group.samples.setdefault(side, []).append(value)
            if busy_us is not None:
                _rest(busy_us(value), policy.duty)
        if perf_counter() >= until:
            return


def _rest(busy_us: float, duty: float) -> None:
    # The host's own work around a sample is rest for the device already; below this a sleep would only add jitter.
    rest_s = busy_us * (1 / duty - 1) / 1e6
    if rest_s > 1e-4:
        sleep(min(rest_s, 0.5))


def _enough(groups: list[_Group], sides: tuple[Side, ...], policy: SamplingPolicy, elapsed_s: float) -> bool:
    series = [[us for g in groups for us in g.samples.get(side, ())] for side in sides]
    count = min((len(values) for values in series), default=0)
    if count == 0:
        return not sides
    if count >= policy.max_samples or elapsed_s >= 4 * policy.budget_s:
        return True
    if elapsed_s >= policy.budget_s and count >= policy.floor_samples:
        return True
    return count >= policy.min_samples and all(relative_half_width(values) <= policy.target for values in series)


def relative_half_width(values: list[float]) -> float:
    """Half the 95 % interval of the median over the median, from order statistics.

    The ranks n/2 -+ 1.96 sqrt(n)/2 bound the median whatever the distribution (the binomial interval, e.g. Conover,
    Practical Nonparametric Statistics, section 3.2).
    """
    ordered = sorted(values)
    count = len(ordered)
    spread = 0.98 * math.sqrt(count)
    low = ordered[max(0, math.floor(count / 2 - spread))]
    high = ordered[min(count - 1, math.ceil(count / 2 + spread))]
    middle = ordered[count // 2]
    return (high - low) / 2 / middle if middle > 0 else math.inf


def _drop_stray(groups: list[_Group], stray: float) -> None:
    """Mark the groups whose clock strays; none where most would go, since then no clock is the run's own."""
    clocks = sorted(r.sm_mhz for g in groups for r in (g.before, g.after) if r is not None and r.sm_mhz is not None)
    if not clocks:
        return
    usual = clocks[len(clocks) // 2]
    strayed = [g for g in groups if any(_strays(r, usual, stray) for r in (g.before, g.after))]
    if 2 * len(strayed) <= len(groups):
        for group in strayed:
            group.dropped = True


def _strays(reading: ClockReading | None, usual: int, stray: float) -> bool:
    return reading is not None and reading.sm_mhz is not None and abs(reading.sm_mhz / usual - 1) > stray


def thin(values: tuple[float, ...], most: int) -> tuple[float, ...]:
    """At most ``most`` of ``values``, evenly spaced, in order."""
    if len(values) <= most:
        return values
    return tuple(values[i * len(values) // most] for i in range(most))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Python's garbage collector off: a collection inside a sample is not the kernel's time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
