"""The block ``roofline``: rates reached, the roofs above them, and how near they are."""

from __future__ import annotations

from typing import Any, Final

from kprof.blocks.base import Absence, absent_block, finish
from kprof.blocks.measured_roofs import NO_CEILINGS, above_measured_roofs
from kprof.blocks.roofline_reasons import why_null
from kprof.blocks.roofline_records import NCU_AND_ROOFS, Ceiling, Point, Ridge, RooflineBlock
from kprof.blocks.roofline_roofs import ceilings_of, points_of, ridges_of
from kprof.blocks.roofline_seen import PEAKS, Seen, percent, scaled
from kprof.counter_profile import CounterProfile
from kprof.counters.quantities import Quantities
from kprof.evidence import Reason
from kprof.flop import TENSOR_RATES, integer
from kprof.roofline import MEASURED, RoofChoice, attainable, intensity, peak_at_clock, rate, seconds_at_peak

__all__ = ["Ceiling", "Point", "Ridge", "RooflineBlock", "ridges_of", "roofline_block"]

SHOWN: Final = (
    "dram_bytes", "dram_read_bytes", "dram_write_bytes", "dram_busy_pct", "l2_bytes", "l1_bytes",
    "fp32_add", "fp32_mul", "fp32_fma", "fp32_add2", "fp32_mul2", "fp32_fma2", "fp16_add", "fp16_mul", "fp16_fma",
    "fp64_add", "fp64_mul", "fp64_fma", "tensor_flop",
)  # fmt: skip
"""The quantities that the block shows over time; the clock is not among them: one that cannot be true is null."""
_MIXED_SHARE: Final = 0.05
"""Share of the time at their peaks from which types beside the first one are worth a word."""
_LITTLE_BYTES: Final = 2.0**20
"""Bytes at L2 below which they say nothing of how a kernel accesses memory."""


def roofline_block(profile: CounterProfile, roof: RoofChoice = "spec") -> RooflineBlock:
    """The block of one launch, or of a side's launches together.

    Args:
        profile: its quantities and board.
        roof: where roofs come from first; what that does not have comes from the other, and each ceiling says which.
    """
    seen = Seen(profile, roof)
    absence = _absence(seen)
    if absence is not None:
        return absent_block(RooflineBlock, absence, NCU_AND_ROOFS)
    findings = profile.findings_on("duration_ns", *SHOWN)
    ceilings = ceilings_of(seen)
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
        points=points_of(seen),
    )
    return finish(block, lambda path: why_null(profile, seen.flop, path))


def _absence(seen: Seen) -> Absence | None:
    quantities = seen.quantities
    if any(getattr(quantities, name) not in (None, {}) for name in SHOWN):
        return None
    reason = Reason(
        code=quantities.missing.get("dram_bytes", "counter_not_collected"),
        message="neither bytes nor FLOP are among the counters",
        hint="Let kprof collect them, or run ncu with --set full.",
    )
    return Absence(status="unavailable", reason=reason)


def _warnings(seen: Seen) -> tuple[Reason, ...]:
    told = [finding.reason for finding in seen.profile.findings_on(*PEAKS)]
    if seen.spec is None and seen.profile.spec_reason is not None:
        told.append(seen.profile.spec_reason)
    operations = {name: count for name, count in (seen.flop.tensor or {}).items() if integer(name)}
    if operations:
        text = ", ".join(f"{count:.4g} of {name}" for name, count in operations.items())
        message = f"tensor operations that are no FLOP and stand under no roof here: {text}"
        told.append(Reason(code="integer_operations", message=message))
    told += _mixed(seen)
    told += _about_measured(seen)
    if _bypasses_l1(seen.quantities):
        message = "L1 looked up less than half of what L2 gave to the SMs: TMA and the like bypass it, and so its bytes"
        told.append(Reason(code="l1_bypassed", message=message))
    return tuple(told)


def _about_measured(seen: Seen) -> list[Reason]:
    """Measured roofs were asked for: that there are none, or that the kernel does better than they."""
    if seen.choice != MEASURED:
        return []
    if seen.profile.ceilings is None:
        return [NO_CEILINGS]
    shares = {"dram_util_pct": _memory(seen)["dram_util_pct"], "fp32_util_pct": _compute(seen)["fp32_util_pct"]}
    shares |= {f"tensor_util_pct.{name}": pct for name, pct in (_tensor(seen).get("tensor_util_pct") or {}).items()}
    return above_measured_roofs(shares)


def _mixed(seen: Seen) -> list[Reason]:
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


def _memory(seen: Seen) -> dict[str, Any]:
    quantities = seen.quantities
    moved = rate(quantities.dram_bytes, quantities)
    return {
        "profiled_us": scaled(quantities.duration_ns, 1e3),
        "dram_bytes": quantities.dram_bytes,
        "l2_bytes": quantities.l2_bytes,
        "dram_bandwidth_gbs": scaled(moved, 1e9),
        "dram_read_gbs": scaled(rate(quantities.dram_read_bytes, quantities), 1e9),
        "dram_write_gbs": scaled(rate(quantities.dram_write_bytes, quantities), 1e9),
        "dram_util_pct": percent(moved, seen.dram_roof.per_second if seen.dram_roof else None),
        "dram_busy_pct": quantities.dram_busy_pct,
        "l2_bandwidth_gbs": scaled(rate(quantities.l2_bytes, quantities), 1e9),
        "l1_bandwidth_gbs": scaled(rate(quantities.l1_bytes, quantities), 1e9),
        "peak_bandwidth_gbs": scaled(seen.dram_roof.per_second if seen.dram_roof else None, 1e9),
        "sm_clock_mhz": scaled(seen.clock_hz, 1e6),
    }


def _compute(seen: Seen) -> dict[str, Any]:
    flop, quantities = seen.flop, seen.quantities
    fp32, fp32_roof, fp16_roof = rate(flop.fp32, quantities), seen.peak("fp32"), seen.peak("fp16")
    at_clock = peak_at_clock("fp32", quantities, seen.spec, seen.clock_hz)
    return {
        "total_flop": flop.total,
        "fp32_tflops": scaled(fp32, 1e12),
        "fp32_util_pct": percent(fp32, fp32_roof.per_second if fp32_roof else None),
        "fp32_util_at_clock_pct": percent(fp32, at_clock),
        "fp16_tflops": scaled(rate(flop.fp16, quantities), 1e12),
        "fp64_tflops": scaled(rate(flop.fp64, quantities), 1e12),
        "peak_fp32_tflops": scaled(fp32_roof.per_second if fp32_roof else None, 1e12),
        "peak_fp16_tflops": scaled(fp16_roof.per_second if fp16_roof else None, 1e12),
    }


def _tensor(seen: Seen) -> dict[str, Any]:
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
            name: percent(value, peak.per_second if (peak := peaks[name]) else None) for name, value in rates.items()
        },
        "tensor_util_at_clock_pct": {name: percent(value, at_clock[name]) for name, value in rates.items()},
    }


def _roof(seen: Seen) -> dict[str, Any]:
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
        found["roofline_pct"] = percent(rate(flop, quantities), limit)
    return found
