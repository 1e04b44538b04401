"""Which measured roofs can be true of a board: none lies above what its hardware can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from kprof.board import GpuSpec
from kprof.ceilings_evidence import DRAM_MIXES, CeilingsEvidence, MeasuredCeiling
from kprof.evidence import Reason

TOLERANCE: Final = 1.03
"""Above the most that the hardware can do, by which a measurement may err."""


def most_possible(spec: GpuSpec) -> dict[str, float]:
    """The most byte/s or FLOP/s of each ceiling on a board: at the pins of its memory, at its highest clock.

    A bandwidth of L2 is in it where it was specified: one that others measured is no limit.
    """
    clock_hz, memory = spec.max_sm_clock_mhz * 1e6, spec.memory
    dram = max(memory.bandwidth_gbs, memory.pin_bandwidth_gbs or 0.0) * 1e9
    found: dict[str, float] = dict.fromkeys(DRAM_MIXES, dram)
    found |= dict.fromkeys(("l1", "shared"), spec.sm_count * spec.sm.l1_bytes_per_clk * clock_hz)
    if spec.l2.bandwidth is not None and spec.l2.bandwidth.kind == "specified":
        found["l2"] = spec.l2.bandwidth.read_gbs * 1e9
    for rate, peak in spec.rates().items():
        found[rate] = max(peak.flop_per_s, spec.sm_count * peak.flop_per_clk_per_sm * clock_hz)
    return found


def believable(ceilings: CeilingsEvidence, spec: GpuSpec | None) -> CeilingsEvidence:
    """The ceilings without those that cannot be: they are absent, with the reason. Without a spec all stay."""
    if spec is None or not ceilings.device.startswith("cuda"):
        return ceilings
    limits = most_possible(spec)
    broken = {one.name: _reason(one, limits) for one in ceilings.measured if _is_beyond(one, limits)}
    if not broken:
        return ceilings
    kept = tuple(one for one in ceilings.measured if one.name not in broken)
    return msgspec.structs.replace(ceilings, measured=kept, absent={**ceilings.absent, **broken})


def _is_beyond(one: MeasuredCeiling, limits: Mapping[str, float]) -> bool:
    return one.name in limits and one.median > limits[one.name] * TOLERANCE


def _reason(one: MeasuredCeiling, limits: Mapping[str, float]) -> Reason:
    message = (
        f"{one.median:.4g} {one.unit} were measured, {one.median / limits[one.name]:.2f} times the most that the board "
        f"can do ({limits[one.name]:.4g}): the measurement is broken"
    )
    return Reason(code="above_peak", message=message, hint="Report it with the output of kprof doctor --ceilings.")
