"""What every timer shares: the calls to time, warming them up, and the host's clock."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter, perf_counter_ns  # By name: user code may replace the module's functions.
from typing import Any, Final

import torch

from kprof.collectors.synchronise import synchronise
from kprof.collectors.timing.sampling import SamplingPolicy
from kprof.collectors.timing.witness import Witness
from kprof.evidence import ClockReading, Side

WARM_UP_S: Final = 0.2


@dataclass
class Timers:
    """The calls to time, and what the timers share."""

    device: torch.device
    calls: dict[Side, Callable[[], Any]]
    enter: Callable[[Side], None]
    policy: SamplingPolicy
    read_clock: Callable[[], ClockReading | None] = lambda: None
    witness: Witness = field(default_factory=Witness)

    @property
    def sides(self) -> tuple[Side, ...]:
        return tuple(self.calls)

    def call(self, side: Side) -> Any:
        self.enter(side)
        return self.calls[side]()


def warm_up(timers: Timers, seconds: float = WARM_UP_S) -> dict[Side, float]:
    """Call each side for about ``seconds``, at least three times: clocks, caches, autotuners and compilers settle.

    Returns:
        Seconds that the last call of each side took.
    """
    last_s: dict[Side, float] = {}
    for side in timers.sides:
        began = ended = perf_counter()
        calls = 0
        while calls < 3 or ended - began < seconds:
            call_began = ended
            timers.call(side)
            synchronise(timers.device)
            ended = perf_counter()
            last_s[side] = ended - call_began
            calls += 1
    return last_s


def host_sample(timers: Timers, side: Side) -> float:
    """One call and a synchronise, by the host's clock, in microseconds."""
    timers.enter(side)
    call = timers.calls[side]
    began = perf_counter_ns()
    result = call()
    synchronise(timers.device)
    ended = perf_counter_ns()
    timers.witness.saw(result)
    del result
    return (ended - began) / 1e3


def host_resolution_us() -> float:
    """Smallest step seen between two readings of the host's clock."""
    readings = [perf_counter_ns() for _ in range(2000)]
    steps = [b - a for a, b in itertools.pairwise(readings) if b > a]
    return min(steps, default=1) / 1e3
