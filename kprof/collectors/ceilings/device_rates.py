"""Times of device work for ceilings: calls put together behind a full queue, the board at rest between samples."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Final

import torch

from kprof.ceilings_evidence import MeasuredCeiling, Name, Unit
from kprof.collectors.ceilings.rates import rate_of
from kprof.collectors.clocks import ClockMonitor
from kprof.collectors.timing.device_queue import DeviceQueue, EventPair

SAMPLES: Final = 15
WARM_US: Final = 1500.0
"""Work ahead of each sample: after a pause the first calls of a board are slower."""
SAMPLE_US: Final = 4000.0
"""Length of a sample at least: an event pair reads 1.3 us too much."""
_SPIN_US: Final = 60.0
_MOST_CALLS: Final = 200
_BUSY_SHARE: Final = 0.3
"""Of the time, at most, that the board works: under sustained load its power cap lowers the clock."""
_LONGEST_REST_S: Final = 0.1


class DeviceRates:
    """Times calls on one CUDA device.

    Args:
        device: where.
        monitor: reads its clock.
    """

    def __init__(self, device: torch.device, monitor: ClockMonitor) -> None:
        self.device, self._monitor, self._queue = device, monitor, DeviceQueue(device)

    def rate(
        self,
        name: Name,
        unit: Unit,
        amount: float,
        call: Callable[[], Any],
        method: str,
        footprint_bytes: int | None = None,
    ) -> MeasuredCeiling:
        """A rate: ``amount`` of bytes or FLOP in each call."""
        seconds = self._seconds(call)
        clock = self._monitor.read()
        return rate_of(
            name,
            unit,
            amount,
            seconds,
            method,
            footprint_bytes=footprint_bytes,
            sm_clock_mhz=clock.sm_mhz if clock is not None else None,
        )

    def once_us(self, call: Callable[[], Any]) -> float:
        """Microseconds of one call, about."""
        call()
        return min(self._sample_us(call, 1, 1) for _ in range(3))

    def _seconds(self, call: Callable[[], Any]) -> list[float]:
        once = max(self.once_us(call), 1.0)
        warm, calls = (max(1, min(_MOST_CALLS, math.ceil(least / once))) for least in (WARM_US, SAMPLE_US))
        rest_s = min(_LONGEST_REST_S, once * (warm + calls) * 1e-6 / _BUSY_SHARE)
        samples = []
        for _ in range(SAMPLES):
            time.sleep(rest_s)
            samples.append(self._sample_us(call, warm, calls) * 1e-6 / calls)
        return samples

    def _sample_us(self, call: Callable[[], Any], warm: int, calls: int) -> float:
        """Microseconds of ``calls`` calls right behind ``warm`` others."""
        pair = EventPair()
        self._queue.spin(_SPIN_US)
        for _ in range(warm):
            call()
        pair.start()
        for _ in range(calls):
            call()
        pair.end()
        return pair.wait_us()
