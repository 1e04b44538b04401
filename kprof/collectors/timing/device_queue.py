"""The device's queue: keep it busy while the host enqueues, and empty L2 without leaving dirty lines.

A flush that writes leaves dirty lines, which are written back inside the timed window (measured on an H200: 12.0 us
where a flush that reads gives 11.5 us), so this one reads.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Final

import torch

# L2 keeps some lines through one sweep of its own size (it is split in partitions that hold copies).
FLUSH_FACTOR: Final = 4
_FALLBACK_L2_BYTES: Final = 64 * 2**20
_CALIBRATION_CYCLES: Final = 2_000_000
MAX_SPIN_US: Final = 20_000.0
# Spins for a number of cycles in one thread; not part of torch's documented interface, there since torch 1.0.
_sleep: Any = torch.cuda._sleep
_Event: Final[Any] = torch.cuda.Event
_record, _query, _wait, _elapsed_ms = _Event.record, _Event.query, _Event.synchronize, _Event.elapsed_time
"""Taken at import, which is before any user code: it may replace them, and would spin and wait for what they tell."""


class EventPair:
    """Two timing events round what is enqueued between them, on the current stream."""

    def __init__(self) -> None:
        self._start, self._end = _Event(enable_timing=True), _Event(enable_timing=True)

    def start(self) -> None:
        _record(self._start)

    def end(self) -> None:
        _record(self._end)

    def started(self) -> bool:
        """The device has reached the first event."""
        return bool(_query(self._start))

    def wait_us(self) -> float:
        """Wait for the second event; microseconds between the two, with the pair's own bias inside."""
        _wait(self._end)
        return float(_elapsed_ms(self._start, self._end)) * 1e3


class DeviceQueue:
    """Work that goes ahead of what is timed, on the current stream of one CUDA device."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        l2 = int(getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)) or _FALLBACK_L2_BYTES
        self.flush_bytes = FLUSH_FACTOR * l2
        """Bytes that one flush reads."""
        self._buffer = torch.zeros(self.flush_bytes // 4, dtype=torch.float32, device=device)
        self._sink = torch.zeros((), dtype=torch.float32, device=device)
        self._cycles_per_us = self._calibrate()
        _reset_persisting_l2()

    def _calibrate(self) -> float:
        """Cycles that the spinning kernel counts in a microsecond, at the clock of now."""
        pair = EventPair()
        _sleep(_CALIBRATION_CYCLES)
        pair.start()
        _sleep(_CALIBRATION_CYCLES)
        pair.end()
        return _CALIBRATION_CYCLES / max(pair.wait_us(), 1.0)

    def spin(self, us: float) -> None:
        """Keep the current stream busy for about ``us`` microseconds with one thread, which draws little power."""
        _sleep(int(min(us, MAX_SPIN_US) * self._cycles_per_us))

    def flush(self) -> None:
        """Read a buffer several times the size of L2, so that nothing of the workload is left in it."""
        torch.sum(self._buffer, dim=0, out=self._sink)


def _reset_persisting_l2() -> None:
    """Give up L2 lines set aside as persisting, which no flush reaches. Best effort: older drivers lack the call."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libcuda.so.1").cuCtxResetPersistingL2Cache()
