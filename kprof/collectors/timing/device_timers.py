"""The timers of one CUDA device: event pairs, the host's clock and many calls a synchronise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter_ns  # By name: user code may replace the module's functions.
from typing import Final

from kprof.collectors.synchronise import synchronise
from kprof.collectors.timing.device_queue import MAX_SPIN_US, DeviceQueue, EventPair
from kprof.collectors.timing.sampling import Sampled, take_samples
from kprof.collectors.timing.timers import Timers, host_resolution_us, host_sample
from kprof.collectors.timing.witness import Witness
from kprof.evidence import Cache, Series, Side, Timer

_SPIN_MARGIN_US: Final = 40.0
_RETAKES: Final = 3
_EMPTY_PAIRS: Final = 50
_STREAM_WINDOW_US: Final = 3000.0
_STREAM_MAX_CALLS: Final = 200
# Reading the flush buffer, bytes a microsecond: a rough figure, only for how long to rest.
_FLUSH_BYTES_PER_US: Final = 3e6
# The spin, the enqueueing and the synchronise round a sample rest the device for about this long anyway.
_REST_INSIDE_US: Final = 100.0


class DeviceTimers:
    """Timers over calls that are warmed up already."""

    def __init__(self, timers: Timers) -> None:
        self.timers = timers
        self.queue = DeviceQueue(timers.device)
        self._enqueue_us = {side: self._measure_enqueue_us(side) for side in timers.sides}
        self.bias_us = self._empty_pair_us()
        """What an event pair reads round nothing at all."""
        self.device_us: dict[Side, float] = {side: self._estimate_us(side) for side in timers.sides}
        """A first estimate of each side's device time, warm."""

    def _measure_enqueue_us(self, side: Side) -> float:
        """Host time to enqueue one call, in microseconds: the largest of five."""
        longest = 0.0
        for _ in range(5):
            synchronise(self.timers.device)
            began = perf_counter_ns()
            self.timers.call(side)
            longest = max(longest, (perf_counter_ns() - began) / 1e3)
        synchronise(self.timers.device)
        return longest

    def _empty_pair_us(self) -> float:
        readings = []
        for _ in range(_EMPTY_PAIRS):
            pair = EventPair()
            self.queue.spin(_SPIN_MARGIN_US)
            pair.start()
            pair.end()
            readings.append(pair.wait_us())
        return sorted(readings)[len(readings) // 2]

    def _estimate_us(self, side: Side) -> float:
        self._lengthen_spin(side)
        return max(min(self._event_sample(side, "warm", []) for _ in range(3)) - self.bias_us, 0.5)

    def _lengthen_spin(self, side: Side) -> None:
        """Double the spin until a call is enqueued before the device reaches it; a call that synchronises never is."""
        for _ in range(6):
            filled = [self._event_once(side, "warm", 2.0)[1] for _ in range(5)]
            if all(filled) or self._enqueue_us[side] > MAX_SPIN_US / 4:
                return
            self._enqueue_us[side] *= 2

    def _event_sample(self, side: Side, cache: Cache, filled: list[bool]) -> float:
        """An event pair round one call behind a pre-filled queue, in microseconds; notes whether it stayed filled.

        A sample that the device overtook holds host time: it is taken again behind a longer spin, unless it is looked
        at, for then its values would no longer be new.
        """
        for attempt in range(1 if self.timers.witness.watching else _RETAKES):
            us, full = self._event_once(side, cache, 2.0 ** (attempt + 1))
            if full:
                break
        if not self.timers.witness.watching:
            filled.append(full)
        return us

    def _event_once(self, side: Side, cache: Cache, spare: float) -> tuple[float, bool]:
        pair = EventPair()
        self.timers.enter(side)
        call = self.timers.calls[side]
        spin_calls = 1 if cache == "cold" else 2
        self.queue.spin(spare * spin_calls * self._enqueue_us[side] + _SPIN_MARGIN_US)
        if cache == "cold":
            self.queue.flush()
        else:
            call()
        pair.start()
        result = call()
        pair.end()
        full = not pair.started()
        synchronise(self.timers.device)
        self.timers.witness.saw(result)
        del result
        return pair.wait_us(), full

    def event_series(self, cache: Cache) -> tuple[Series, Sampled]:
        """Event pairs, their bias left inside and recorded beside."""
        filled: list[bool] = []
        # A warm sample begins with a call outside its window: no values are new after it.
        witness = self.timers.witness if cache == "cold" else None
        sampled = self._sample(lambda side: self._event_sample(side, cache, filled), "event", cache, witness)
        # A single late sample in a hundred cannot move a median.
        kept_full = sum(filled) >= 0.99 * len(filled)
        return sampled.series("event", cache, queue_kept_full=kept_full, bias_us=self.bias_us), sampled

    def host_series(self, cache: Cache) -> tuple[Series, Sampled]:
        """One call and a synchronise by the host's clock, L2 emptied before it where ``cold``."""

        def take(side: Side) -> float:
            if cache == "cold":
                self.queue.flush()
            synchronise(self.timers.device)
            return host_sample(self.timers, side)

        sampled = self._sample(take, "host", cache)
        return sampled.series("host", cache, resolution_us=host_resolution_us()), sampled

    def stream_series(self) -> tuple[Series, Sampled]:
        """Many calls and one synchronise by the host's clock, per call."""
        once = max(self._stream_sample(side, 3) for side in self.timers.sides)
        calls = max(2, min(_STREAM_MAX_CALLS, int(_STREAM_WINDOW_US / once)))
        sampled = take_samples(
            lambda side: self._stream_sample(side, calls),
            self.timers.sides,
            replace(self.timers.policy, min_samples=20, floor_samples=10, max_samples=100),
            timer="host_stream",
            cache="warm",
            read_clock=self.timers.read_clock,
            busy_us=lambda us: us * calls,
        )
        details = {"calls_per_sample": calls, "resolution_us": host_resolution_us() / calls}
        return sampled.series("host_stream", "warm", **details), sampled

    def _stream_sample(self, side: Side, calls: int) -> float:
        self.timers.enter(side)
        call = self.timers.calls[side]
        synchronise(self.timers.device)
        began = perf_counter_ns()
        for _ in range(calls):
            call()
        synchronise(self.timers.device)
        return (perf_counter_ns() - began) / 1e3 / calls

    def _sample(
        self, take: Callable[[Side], float], timer: Timer, cache: Cache, witness: Witness | None = None
    ) -> Sampled:
        """Sample both sides, resting by what each sample costs the device."""
        flush_us = self.queue.flush_bytes / _FLUSH_BYTES_PER_US if cache == "cold" else 0.0
        return take_samples(
            take,
            self.timers.sides,
            self.timers.policy,
            timer=timer,
            cache=cache,
            read_clock=self.timers.read_clock,
            busy_us=lambda us: max(0.0, us + flush_us - _REST_INSIDE_US),
            witness=witness,
        )
