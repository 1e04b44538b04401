"""Roofline arithmetic: the rates of a launch, the roofs above them, what is attainable.

Everything is in base units (FLOP, bytes, seconds, Hz). The roofs are those of Nsight Compute's own roofline sections
(SpeedOfLight_Roofline.py and the ``SpeedOfLight_Hierarchical*RooflineChart.section`` files that travel with it).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from kprof.board import GpuSpec, PeakRate
from kprof.ceilings_evidence import CeilingsEvidence
from kprof.counters.quantities import Quantities

Level = Literal["dram", "l2", "l1"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)
RoofChoice = Literal["spec", "counters", "measured"]
"""Where roofs come from first: the board's spec, the peaks that the report itself holds, or those that programs reached
on the board (``kprof doctor --ceilings``)."""

MEASURED: Final = "measured"
"""The source of a roof that programs reached."""
CLOCK_TOLERANCE: Final = 1.01
"""An SM clock above the board's maximum by more than this is no clock: on an H200, counters of kernels under 5 us gave
up to 2.14 GHz of at most 1.98, those of longer ones never more than 1.98."""
LEAST_CLOCK: Final = 0.02
"""Of the maximum, below which an SM clock is no clock of a kernel that runs, but one in another unit."""


@dataclass(frozen=True)
class Roof:
    """One bandwidth (bytes/s) or peak (FLOP/s), and where it comes from."""

    per_second: float
    source: str


def bytes_at(level: Level, quantities: Quantities) -> float | None:
    """Bytes moved at a memory level: DRAM reads and writes; L2 lookups of the SMs; L1 lookups."""
    found: float | None = getattr(quantities, f"{level}_bytes")
    return found


def rate(amount: float | None, quantities: Quantities) -> float | None:
    """Amount a second, over the duration of the same run; None where there was none."""
    duration_ns = quantities.duration_ns
    return None if amount is None or not duration_ns else amount / (duration_ns * 1e-9)


def intensity(flop: float | None, moved_bytes: float | None) -> float | None:
    """FLOP/byte; None where either is not known or nothing moved."""
    return None if flop is None or not moved_bytes else flop / moved_bytes


def maximum_clock_hz(quantities: Quantities, spec: GpuSpec | None) -> float | None:
    """The board's highest SM clock: as the report has it, else by the spec."""
    if quantities.max_sm_clock_khz:
        return quantities.max_sm_clock_khz * 1e3
    return None if spec is None else spec.max_sm_clock_mhz * 1e6


def clock_is_plausible(quantities: Quantities, spec: GpuSpec | None) -> bool:
    """The SM clock is above 0 and, where the board's maximum is known, neither above it nor far below all it can do."""
    clock, maximum = quantities.sm_clock_hz, maximum_clock_hz(quantities, spec)
    if clock is None or maximum is None:
        return clock is None or clock > 0
    return maximum * LEAST_CLOCK <= clock <= maximum * CLOCK_TOLERANCE


def observed_clock_hz(quantities: Quantities, spec: GpuSpec | None) -> float | None:
    """The SM clock while profiled; None where it was not measured or cannot be true."""
    return (quantities.sm_clock_hz or None) if clock_is_plausible(quantities, spec) else None


def bandwidth_roof(
    level: Level,
    quantities: Quantities,
    spec: GpuSpec | None,
    choice: RoofChoice,
    ceilings: CeilingsEvidence | None = None,
) -> Roof | None:
    """The most bytes/s of a memory level, from the first choice, else from another."""
    of_spec = None if spec is None else _spec_bandwidth(level, spec)
    measured = measured_bandwidth(level, quantities, ceilings) if choice == "measured" else None
    return measured or _preferred(choice, of_spec, lambda: _counter_bandwidth(level, quantities, spec))


def measured_bandwidth(level: Level, quantities: Quantities, ceilings: CeilingsEvidence | None) -> Roof | None:
    """What programs reached at a memory level; of DRAM at the launch's own mix of reads and writes."""
    if ceilings is None:
        return None
    if level == "dram":
        read, moved = quantities.dram_read_bytes, quantities.dram_bytes
        found = ceilings.dram_bandwidth(min(1.0, read / moved) if read is not None and moved else None)
    else:
        one = ceilings.get(level)
        found = None if one is None else one.median
    return None if found is None else Roof(found, MEASURED)


def measured_peak(of: str, ceilings: CeilingsEvidence | None) -> Roof | None:
    """What programs reached of a type."""
    one = ceilings.get(of) if ceilings is not None else None
    return None if one is None else Roof(one.median, MEASURED)


def dense_peak(of: str, spec: GpuSpec | None) -> PeakRate | None:
    """The board's peak of a type; None for a type that no board states one for, too."""
    return None if spec is None else getattr(spec.peaks, of, None)


def compute_roof(
    of: str,
    quantities: Quantities,
    spec: GpuSpec | None,
    choice: RoofChoice,
    ceilings: CeilingsEvidence | None = None,
) -> Roof | None:
    """The most FLOP/s of a type, dense, from the first choice, else from another.

    Reports hold a peak of FP32 only: the tensor counters of all instructions state the one with sparsity.
    """
    peak = dense_peak(of, spec)
    of_spec = None if peak is None else Roof(peak.flop_per_s, "spec")
    measured = measured_peak(of, ceilings) if choice == "measured" else None
    return measured or _preferred(choice, of_spec, lambda: _counter_peak(of, quantities, spec))


def peak_at_clock(of: str, quantities: Quantities, spec: GpuSpec | None, clock_hz: float | None) -> float | None:
    """The most FLOP/s of a type at an SM clock: SMs x FLOP/clk/SM x clock; None without any of them."""
    if clock_hz is None:
        return None
    peak = dense_peak(of, spec)
    if spec is not None and peak is not None:
        return float(spec.sm_count * peak.flop_per_clk_per_sm * clock_hz)
    per_cycle = quantities.fp32_peak_per_cycle if of == "fp32" else None
    return None if not per_cycle else per_cycle * clock_hz


def seconds_at_peak(work: Mapping[str, float], roofs: Mapping[str, Roof | None]) -> dict[str, float]:
    """How long each type takes at its own peak; types without one are left out.

    Args:
        work: FLOP by type.
        roofs: the peak of each of those types, where there is one.
    """
    return {name: count / roof.per_second for name, count in work.items() if (roof := roofs.get(name)) is not None}


def dominant(work: Mapping[str, float], roofs: Mapping[str, Roof | None]) -> str | None:
    """The type that takes most time at its peak: the one whose roof the kernel stands under.

    Args:
        work: FLOP by type, none of them 0.
        roofs: the peak of each of those types, where there is one.

    Returns:
        None for no work, and where a type without a peak has more FLOP than the one that would be it.
    """
    seconds = seconds_at_peak(work, roofs)
    if not seconds:
        return None
    found = max(seconds, key=seconds.__getitem__)
    hidden = any(count > work[found] for name, count in work.items() if name not in seconds)
    return None if hidden else found


def mixed_peak(work: Mapping[str, float], roofs: Mapping[str, Roof | None], *, overlap: bool) -> float | None:
    """FLOP/s of all types together when each runs at its own peak; None where no type has one.

    Args:
        work: FLOP by type, none of them 0.
        roofs: the peak of each of those types, where there is one.
        overlap: the pipes may work at once, as within a kernel; else one type after the other, as in several kernels.
    """
    seconds = seconds_at_peak(work, roofs).values()
    if not seconds:
        return None
    return sum(work.values()) / (max(seconds) if overlap else sum(seconds))


def attainable(peak: float, bandwidth: float, flop: float, moved_bytes: float) -> float:
    """FLOP/s that roofs allow: min(peak, intensity x bandwidth); the peak where nothing moves (Williams et al., 2009).

    Args:
        peak: FLOP/s.
        bandwidth: bytes/s of the level that the bytes are of.
        flop: of the kernel.
        moved_bytes: of the kernel.
    """
    return min(peak, flop / moved_bytes * bandwidth) if moved_bytes else peak


def _spec_bandwidth(level: Level, spec: GpuSpec) -> Roof | None:
    if level == "dram":
        return Roof(spec.memory.bandwidth_bytes_per_s, "spec")
    if level == "l1":
        return Roof(spec.sm_count * spec.sm.l1_bytes_per_clk * spec.max_sm_clock_mhz * 1e6, "spec")
    of_l2 = spec.l2.bandwidth
    if of_l2 is None:
        return None
    return Roof(of_l2.read_gbs * 1e9, "spec" if of_l2.kind == "specified" else f"spec, {of_l2.kind}")


def _counter_bandwidth(level: Level, q: Quantities, spec: GpuSpec | None) -> Roof | None:
    if level != "l1":
        found = q.dram_peak_bytes_per_s if level == "dram" else q.l2_peak_bytes_per_s
    else:
        clock = observed_clock_hz(q, spec)
        found = None if clock is None or q.l1_peak_bytes_per_cycle is None else q.l1_peak_bytes_per_cycle * clock
    return Roof(found, "counters") if found and found > 0 else None


def _counter_peak(of: str, q: Quantities, spec: GpuSpec | None) -> Roof | None:
    if of != "fp32" or (q.fp32_peak_per_cycle or 0.0) <= 0:
        return None
    clock = observed_clock_hz(q, spec)
    return None if clock is None else Roof((q.fp32_peak_per_cycle or 0.0) * clock, "counters")


def _preferred(choice: RoofChoice, of_spec: Roof | None, of_counters: Callable[[], Roof | None]) -> Roof | None:
    if choice == "counters":
        return of_counters() or of_spec
    return of_spec or of_counters()
