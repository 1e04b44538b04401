"""Why a number of the block ``roofline`` is null."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kprof.counter_profile import CounterProfile
from kprof.counters.quantities import Quantities
from kprof.counters.resolve import NOT_COLLECTED
from kprof.flop import Flop
from kprof.roofline import LEVELS, bytes_at, clock_is_plausible, observed_clock_hz

NO_PEAK: Final = "no_peak_for_type"
"""The board, or the report, states no peak for the type."""
_MEMORY_RATES: Final[Mapping[str, str]] = {
    "dram_bandwidth_gbs": "dram_bytes",
    "dram_read_gbs": "dram_read_bytes",
    "dram_write_gbs": "dram_write_bytes",
    "l2_bandwidth_gbs": "l2_bytes",
    "l1_bandwidth_gbs": "l1_bytes",
}
_INTENSITIES: Final[Mapping[str, str]] = {
    "arithmetic_intensity": "dram_bytes",
    "l2_arithmetic_intensity": "l2_bytes",
    "l1_arithmetic_intensity": "l1_bytes",
}
_COUNTS: Final[Mapping[str, tuple[str, ...]]] = {
    "fp32": ("fp32_add", "fp32_mul", "fp32_fma"),
    "fp16": ("fp16_add", "fp16_mul", "fp16_fma"),
    "fp64": ("fp64_add", "fp64_mul", "fp64_fma"),
}
_AT_CLOCK: Final = "_at_clock_pct"


def why_null(profile: CounterProfile, flop: Flop, path: str) -> str:
    """The code of the reason for the null at ``path``.

    Args:
        profile: what the block was made of.
        flop: as counted in it.
        path: dotted, within the block.
    """
    return _Why(profile, flop).null(path)


@dataclass(frozen=True)
class _Why:
    profile: CounterProfile
    flop: Flop

    @property
    def quantities(self) -> Quantities:
        return self.profile.quantities

    def null(self, path: str) -> str:
        head, _, field = path.partition(".")
        name, _, index = head.partition("[")
        if name == "ceilings":
            return "compute_roof" if field == "bandwidth_gbs" else "memory_roof"
        if name == "points":
            return self._of_point(int(index.rstrip("]")), field)
        return self._memory(name) or self._rate(name) or self._of_roof(name)

    def _of_point(self, index: int, field: str) -> str:
        level = [level for level in LEVELS if bytes_at(level, self.quantities) is not None][index]
        if field == "arithmetic_intensity":
            return self._no_flop() or self._no_bytes(f"{level}_bytes")
        if field == "achieved_tflops":
            return self._no_flop() or self._no_time()
        return self._no_time() if field == "bandwidth_gbs" else "not_compared"

    def _memory(self, name: str) -> str:
        if name in _MEMORY_RATES:
            return self._missing(_MEMORY_RATES[name]) or self._no_time()
        if name in _INTENSITIES:
            return self._no_flop() or self._no_bytes(_INTENSITIES[name])
        if name == "dram_util_pct":
            return self._missing("dram_bytes", "duration_ns") or self._no_roof()
        if name == "profiled_us":
            return self._no_time()
        return self._missing(name) if name in ("dram_bytes", "l2_bytes", "dram_busy_pct") else ""

    def _rate(self, name: str) -> str:
        kind = name.partition("_")[0]
        if name == "total_flop":
            return self._no_flop()
        if kind != "tensor" and kind not in _COUNTS:
            return ""
        if self._part_missing(kind):
            return self._part_missing(kind)
        if name.endswith(_AT_CLOCK) and observed_clock_hz(self.quantities, self.profile.spec) is None:
            return self._missing("duration_ns") or self._no_clock()
        if "_util_" in name:
            return self._missing("duration_ns") or self._no_roof()
        return self._no_time()

    def _of_roof(self, name: str) -> str:
        if name == "sm_clock_mhz":
            return self._no_clock()
        if name in ("attainable_tflops", "roofline_pct"):
            why = self._no_flop() or self._missing("dram_bytes")
            if why:
                return why
            if name == "roofline_pct" and self.flop.total == 0:
                return "no_flop"
            if name == "roofline_pct" and not self.quantities.duration_ns:
                return self._no_time()
        return self._no_roof()

    def _missing(self, *names: str) -> str:
        """The code of the first quantity that is missing; empty where none is."""
        for name in names:
            if getattr(self.quantities, name) is None:
                return self.quantities.missing.get(name, NOT_COLLECTED)
        return ""

    def _no_time(self) -> str:
        return self._missing("duration_ns") or "no_duration"

    def _no_bytes(self, name: str) -> str:
        return self._missing(name) or "no_bytes"

    def _no_flop(self) -> str:
        return next((why for kind in (*_COUNTS, "tensor") if (why := self._part_missing(kind))), "")

    def _part_missing(self, kind: str) -> str:
        if getattr(self.flop, kind) is not None:
            return ""
        if kind == "tensor":
            return self.quantities.missing.get("tensor_flop", "tensor_counters_not_collected")
        return self._missing(*_COUNTS[kind]) or "packed_fp32_not_collected"

    def _no_clock(self) -> str:
        if not clock_is_plausible(self.quantities, self.profile.spec):
            return "implausible_clock"
        return self._missing("sm_clock_hz") or "no_clock"

    def _no_roof(self) -> str:
        if self.profile.spec is not None:
            return NO_PEAK
        return self.profile.spec_reason.code if self.profile.spec_reason else "spec_unknown"
