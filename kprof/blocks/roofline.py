"""The block ``roofline``: rates reached, the roofs above them, and how near they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec

from kprof.blocks.base import Absence, absent_block, finish
from kprof.blocks.roofline_reasons import why_null
from kprof.blocks.roofline_records import NCU_AND_ROOFS, Ceiling, Point, Ridge, RooflineBlock
from kprof.board import GpuSpec
from kprof.counter_profile import CounterProfile
from kprof.counters.quantities import Quantities
from kprof.evidence import Reason
from kprof.roofline import (
    LEVELS,
    TENSOR_RATES,
    Flop,
    Level,
    Roof,
    RoofChoice,
    attainable,
    bandwidth_roof,
    bytes_at,
    compute_roof,
    count_flop,
    dominant,
    integer,
    intensity,
    mixed_peak,
    observed_clock_hz,
    peak_at_clock,
    rate,
    seconds_at_peak,
)

__all__ = ["Ceiling", "Point", "Ridge", "RooflineBlock", "ridges_of", "roofline_block"]

SHOWN: Final = (
    "dram_bytes", "dram_read_bytes", "dram_write_bytes", "dram_busy_pct", "l2_bytes", "l1_bytes",
    "fp32_add", "fp32_mul", "fp32_fma", "fp32_add2", "fp32_mul2", "fp32_fma2", "fp16_add", "fp16_mul", "fp16_fma",
    "fp64_add", "fp64_mul", "fp64_fma", "tensor_flop",
)  # fmt: skip
"""The quantities that the block shows over time; the clock is not among them: one that cannot be true is null."""
PEAKS: Final = ("dram_peak_bytes_per_s", "l2_peak_bytes_per_s", "l1_peak_bytes_per_cycle", "fp32_peak_per_cycle")
"""The quantities that roofs are made of where they come from the counters."""
_MIXED_SHARE: Final = 0.05
"""Share of the time at their peaks from which types beside the first one are worth a word."""
_LITTLE_BYTES: Final = 2.0**20
"""Bytes at L2 below which they say nothing of how a kernel accesses memory."""
_CEILING_NAMES: Final[Mapping[str, str]] = {
    "dram": "DRAM", "l2": "L2", "l1": "L1", "fp32": "FP32", "fp64": "FP64", "fp16_vector": "FP16 vector",
    "fp64_tensor": "FP64 tensor", "tf32": "TF32 tensor", "bf16": "BF16 tensor", "fp16": "FP16 tensor",
    "fp8": "FP8 tensor", "fp4": "FP4 tensor",
}  # fmt: skip


@dataclass(frozen=True)
class _Seen:
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
        return bandwidth_roof(level, self.believed, self.spec, self.choice)

    def peak(self, of: str) -> Roof | None:
        return compute_roof(of, self.believed, self.spec, self.choice)


def roofline_block(profile: CounterProfile, roof: RoofChoice = "spec") -> RooflineBlock:
    """The block of one launch, or of a side's launches together.

    Args:
        profile: its quantities and board.
        roof: where roofs come from first; what that does not have comes from the other, and each ceiling says which.
    """
    seen = _Seen(profile, roof)
    absence = _absence(seen)
    if absence is not None:
        return absent_block(RooflineBlock, absence, NCU_AND_ROOFS)
    findings = profile.findings_on("duration_ns", *SHOWN)
    ceilings = _ceilings(seen)
    block = RooflineBlock(
        status="suspect" if findings else "ok",
        reason=findings[0].reason if findings else None,
        source=NCU_AND_ROOFS,
        warnings=(*(finding.reason for finding in findings[1:]), *_warnings(seen)),
        **_memory(seen),
        **_compute(seen),
        **_tensor(seen),
        **_roof(seen),
        ceilings=ceilings,
        ridges=ridges_of(ceilings),
        points=_points(seen),
    )
    return finish(block, lambda path: why_null(profile, seen.flop, path))


def _absence(seen: _Seen) -> Absence | None:
    quantities = seen.quantities
    if any(getattr(quantities, name) not in (None, {}) for name in SHOWN):
        return None
    reason = Reason(
        code=quantities.missing.get("dram_bytes", "counter_not_collected"),
        message="neither bytes nor FLOP are among the counters",
        hint="Let kprof collect them, or run ncu with --set full.",
    )
    return Absence(status="unavailable", reason=reason)


def _warnings(seen: _Seen) -> tuple[Reason, ...]:
    told = [finding.reason for finding in seen.profile.findings_on(*PEAKS)]
    if seen.spec is None and seen.profile.spec_reason is not None:
        told.append(seen.profile.spec_reason)
    operations = {name: count for name, count in (seen.flop.tensor or {}).items() if integer(name)}
    if operations:
        text = ", ".join(f"{count:.4g} of {name}" for name, count in operations.items())
        message = f"tensor operations that are no FLOP and stand under no roof here: {text}"
        told.append(Reason(code="integer_operations", message=message))
    told += _mixed(seen)
    if _bypasses_l1(seen.quantities):
        message = "L1 looked up less than half of what L2 gave to the SMs: TMA and the like bypass it, and so its bytes"
        told.append(Reason(code="l1_bypassed", message=message))
    return tuple(told)


def _mixed(seen: _Seen) -> list[Reason]:
    """Several kernels of unlike types: no single ceiling of the plot stands above their common point."""
    if seen.quantities.launches == 1:
        return []
    seconds = seconds_at_peak(seen.work, seen.peaks)
    shares = {name: part / sum(seconds.values()) for name, part in seconds.items()}
    if 1 - max(shares.values(), default=1.0) < _MIXED_SHARE:
        return []
    text = ", ".join(f"{share:.0%} {name}" for name, share in sorted(shares.items(), key=lambda one: -one[1]))
    message = f"FLOP of several types, at their peaks {text} of the time: the roof of all together is that of the mix"
    return [Reason(code="mixed_types", message=message, hint="kernels[] has each launch under its own roof.")]


def _bypasses_l1(quantities: Quantities) -> bool:
    """Tensor Memory Accelerator copies appear in L2's lookups for the SMs, and in no lookup of L1."""
    l1, l2 = quantities.l1_bytes, quantities.l2_bytes
    from_sms = "srcunit_tex" in quantities.sources.get("l2_bytes", "")
    return from_sms and l1 is not None and l2 is not None and l2 > max(2.0 * l1, _LITTLE_BYTES)


def _memory(seen: _Seen) -> dict[str, Any]:
    quantities = seen.quantities
    moved = rate(quantities.dram_bytes, quantities)
    return {
        "profiled_us": _scaled(quantities.duration_ns, 1e3),
        "dram_bytes": quantities.dram_bytes,
        "l2_bytes": quantities.l2_bytes,
        "dram_bandwidth_gbs": _scaled(moved, 1e9),
        "dram_read_gbs": _scaled(rate(quantities.dram_read_bytes, quantities), 1e9),
        "dram_write_gbs": _scaled(rate(quantities.dram_write_bytes, quantities), 1e9),
        "dram_util_pct": _percent(moved, seen.dram_roof.per_second if seen.dram_roof else None),
        "dram_busy_pct": quantities.dram_busy_pct,
        "l2_bandwidth_gbs": _scaled(rate(quantities.l2_bytes, quantities), 1e9),
        "l1_bandwidth_gbs": _scaled(rate(quantities.l1_bytes, quantities), 1e9),
        "peak_bandwidth_gbs": _scaled(seen.dram_roof.per_second if seen.dram_roof else None, 1e9),
        "sm_clock_mhz": _scaled(seen.clock_hz, 1e6),
    }


def _compute(seen: _Seen) -> dict[str, Any]:
    flop, quantities = seen.flop, seen.quantities
    fp32, fp32_roof, fp16_roof = rate(flop.fp32, quantities), seen.peak("fp32"), seen.peak("fp16")
    at_clock = peak_at_clock("fp32", quantities, seen.spec, seen.clock_hz)
    return {
        "total_flop": flop.total,
        "fp32_tflops": _scaled(fp32, 1e12),
        "fp32_util_pct": _percent(fp32, fp32_roof.per_second if fp32_roof else None),
        "fp32_util_at_clock_pct": _percent(fp32, at_clock),
        "fp16_tflops": _scaled(rate(flop.fp16, quantities), 1e12),
        "fp64_tflops": _scaled(rate(flop.fp64, quantities), 1e12),
        "peak_fp32_tflops": _scaled(fp32_roof.per_second if fp32_roof else None, 1e12),
        "peak_fp16_tflops": _scaled(fp16_roof.per_second if fp16_roof else None, 1e12),
    }


def _tensor(seen: _Seen) -> dict[str, Any]:
    if seen.flop.tensor is None:
        return {}
    counts = dict(seen.flop.tensor)
    if not seen.quantities.duration_ns:
        return {"tensor_flop": counts}
    rates = {name: count / (seen.quantities.duration_ns * 1e-9) for name, count in counts.items()}
    peaks = {name: seen.peak(TENSOR_RATES.get(name, name)) for name in rates}
    at_clock = {
        name: peak_at_clock(TENSOR_RATES.get(name, name), seen.quantities, seen.spec, seen.clock_hz) for name in rates
    }
    return {
        "tensor_flop": counts,
        "tensor_tflops": {name: value / 1e12 for name, value in rates.items()},
        "tensor_util_pct": {
            name: _percent(value, peak.per_second if (peak := peaks[name]) else None) for name, value in rates.items()
        },
        "tensor_util_at_clock_pct": {name: _percent(value, at_clock[name]) for name, value in rates.items()},
    }


def _roof(seen: _Seen) -> dict[str, Any]:
    flop, quantities, bandwidth = seen.flop.total, seen.quantities, seen.dram_roof
    found: dict[str, Any] = {
        "arithmetic_intensity": intensity(flop, quantities.dram_bytes),
        "l2_arithmetic_intensity": intensity(flop, quantities.l2_bytes),
        "l1_arithmetic_intensity": intensity(flop, quantities.l1_bytes),
        "roof_type": seen.roof_type,
    }
    peak = seen.peak(seen.roof_type) if seen.roof_type else None
    if peak is None or bandwidth is None:
        return found
    found["ridge_point"] = peak.per_second / bandwidth.per_second
    if flop is None or quantities.dram_bytes is None:
        return found
    limit = attainable(seen.mixed_peak or peak.per_second, bandwidth.per_second, flop, quantities.dram_bytes)
    found["attainable_tflops"] = limit / 1e12 if flop else 0.0
    if flop:
        found["roofline_pct"] = _percent(rate(flop, quantities), limit)
    return found


def _ceilings(seen: _Seen) -> tuple[Ceiling, ...]:
    made = []
    for level in LEVELS:
        roof = seen.bandwidth(level)
        if roof is not None:
            name = _CEILING_NAMES[level]
            made.append(Ceiling(name=name, level=level, source=roof.source, bandwidth_gbs=roof.per_second / 1e9))
    for of, roof in (seen.peaks or {"fp32": seen.peak("fp32")}).items():
        if roof is not None:
            name = _CEILING_NAMES.get(of, of)
            made.append(Ceiling(name=name, level="compute", source=roof.source, peak_tflops=roof.per_second / 1e12))
    return tuple(made)


def ridges_of(ceilings: Iterable[Ceiling]) -> tuple[Ridge, ...]:
    """The ridge point of every bandwidth with every peak."""
    roofs = tuple(ceilings)
    return tuple(
        Ridge(
            bandwidth=memory.name,
            peak=compute.name,
            arithmetic_intensity=compute.peak_tflops * 1e3 / memory.bandwidth_gbs,
            peak_tflops=compute.peak_tflops,
        )
        for memory in roofs
        for compute in roofs
        if memory.bandwidth_gbs is not None and compute.peak_tflops is not None
    )


def _points(seen: _Seen) -> tuple[Point, ...]:
    flop, quantities = seen.flop.total, seen.quantities
    achieved = _scaled(rate(flop, quantities), 1e12)
    return tuple(
        Point(
            name=_CEILING_NAMES[level],
            level=level,
            arithmetic_intensity=intensity(flop, moved),
            achieved_tflops=achieved,
            bandwidth_gbs=_scaled(rate(moved, quantities), 1e9),
        )
        for level in LEVELS
        if (moved := bytes_at(level, quantities)) is not None
    )


def _scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def _percent(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole * 100.0
