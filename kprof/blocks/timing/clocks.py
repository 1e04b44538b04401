"""The clock during the timing: which clock, held down by what, and how many samples were left out for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kprof.blocks.base import on_cuda
from kprof.capture import Capture
from kprof.evidence import Cache, ClockReading, Reason, Record, Timer
from kprof.statistics import median

_POWER_CAPS: Final = ("sw_power_cap", "hw_power_brake")
"""Starts of NVML's names for a clock that is held down by power."""


class ClockState(Record, frozen=True, kw_only=True):
    """What the driver said of clock and power during the timing; None: it did not say."""

    power_capped: bool | None = None
    throttle_reasons: tuple[str, ...] | None = None
    power_w: float | None = None
    """The highest reading."""
    power_limit_w: float | None = None
    sm_clock_mhz: float | None = None
    """Median over the readings round the headline's samples, or round all where those have none."""
    absent_code: str = "no_clock_readings"
    """Why what is None is None."""

    def warning(self) -> Reason | None:
        """What to say where the board was in its power cap."""
        if not self.power_capped:
            return None
        # The driver averages power over far longer than a kernel runs: the reading may lie well under the cap.
        drawn = f", highest reading {self.power_w:.0f} W" if self.power_w is not None else ""
        limit = f", limit {self.power_limit_w:.0f} W" if self.power_limit_w is not None else ""
        clock = f", SM clock {self.sm_clock_mhz:.0f} MHz" if self.sm_clock_mhz is not None else ""
        return Reason(
            code="power_capped",
            message=f"the board was in its power cap{drawn}{limit}{clock}: times depend on data and on load",
            hint="Compare cycles instead of microseconds.",
        )


def clock_state(capture: Capture, timer: Timer | None, cache: Cache | None) -> ClockState:
    """The clock round the samples of ``timer`` in ``cache``."""
    if not on_cuda(capture):
        return ClockState(absent_code="no_device")
    groups = [group for group in (capture.timing.clock_groups if capture.timing else ()) if not group.dropped]
    readings = [reading for group in groups for reading in (group.before, group.after)]
    of_headline = [
        reading
        for group in groups
        if (group.timer, group.cache) == (timer, cache)
        for reading in (group.before, group.after)
    ]
    environment = capture.environment
    if not readings:
        readings = [one for one in (environment.clocks_before, environment.clocks_after) if one is not None]
    reasons = _throttle_reasons(readings)
    powers = [reading.power_w for reading in readings if reading.power_w is not None]
    limits = [reading.power_limit_w for reading in readings if reading.power_limit_w is not None]
    return ClockState(
        power_capped=None if reasons is None else any(reason.startswith(_POWER_CAPS) for reason in reasons),
        throttle_reasons=reasons,
        power_w=max(powers, default=None),
        power_limit_w=max(limits, default=None),
        sm_clock_mhz=_median_clock(of_headline) or _median_clock(readings),
        absent_code=environment.clocks_reason.code if environment.clocks_reason else "no_clock_readings",
    )


def _throttle_reasons(readings: Iterable[ClockReading]) -> tuple[str, ...] | None:
    told = [reading.throttle_reasons for reading in readings if reading.throttle_reasons is not None]
    return tuple(sorted({reason for reasons in told for reason in reasons})) if told else None


def _median_clock(readings: Iterable[ClockReading]) -> float | None:
    return median([float(reading.sm_mhz) for reading in readings if reading.sm_mhz is not None])
