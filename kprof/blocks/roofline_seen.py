"""What the block ``roofline`` is made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import msgspec

from kprof.board import GpuSpec
from kprof.counter_profile import CounterProfile
from kprof.counters.quantities import Quantities
from kprof.flop import Flop, count_flop
from kprof.roofline import (
    Level,
    Roof,
    RoofChoice,
    bandwidth_roof,
    compute_roof,
    dominant,
    mixed_peak,
    observed_clock_hz,
)

PEAKS: Final = ("dram_peak_bytes_per_s", "l2_peak_bytes_per_s", "l1_peak_bytes_per_cycle", "fp32_peak_per_cycle")
"""The quantities that roofs are made of where they come from the counters."""


@dataclass(frozen=True)
class Seen:
    """What the block is made of, each part worked out once."""

    profile: CounterProfile
    choice: RoofChoice

    @property
    def quantities(self) -> Quantities:
        return self.profile.quantities

    @property
    def spec(self) -> GpuSpec | None:
        return self.profile.spec

    @cached_property
    def flop(self) -> Flop:
        return count_flop(self.quantities, self.spec.compute_capability if self.spec else None)

    @cached_property
    def clock_hz(self) -> float | None:
        return observed_clock_hz(self.quantities, self.spec)

    @cached_property
    def work(self) -> dict[str, float]:
        return self.flop.by_rate()

    @cached_property
    def roof_type(self) -> str | None:
        if self.flop.total:
            return dominant(self.work, self.peaks)
        return "fp32"

    @cached_property
    def dram_roof(self) -> Roof | None:
        return self.bandwidth("dram")

    @cached_property
    def believed(self) -> Quantities:
        """The quantities without those peaks of ncu's that cannot be true: what is left makes the roofs."""
        doubted = {name: None for name in PEAKS if self.profile.is_doubted(name)}
        return msgspec.structs.replace(self.quantities, **doubted) if doubted else self.quantities

    @cached_property
    def mixed_peak(self) -> float | None:
        """FLOP/s of the launch's types together: within a kernel pipes work at once, several kernels take turns."""
        return mixed_peak(self.work, self.peaks, overlap=self.quantities.launches == 1)

    @cached_property
    def peaks(self) -> dict[str, Roof | None]:
        """Of each type that the launch has FLOP of."""
        return {name: self.peak(name) for name in self.work}

    def bandwidth(self, level: Level) -> Roof | None:
        return bandwidth_roof(level, self.believed, self.spec, self.choice, self.profile.ceilings)

    def peak(self, of: str) -> Roof | None:
        return compute_roof(of, self.believed, self.spec, self.choice, self.profile.ceilings)


def scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def percent(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole * 100.0
