"""The roofs of a launch, their ridge points, and its own points under them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from kprof.blocks.roofline_records import BESIDE, Ceiling, Point, Ridge
from kprof.blocks.roofline_seen import Seen, scaled
from kprof.roofline import LEVELS, MEASURED, Level, Roof, RoofChoice, bytes_at, intensity, rate

_CEILING_NAMES: Final[Mapping[str, str]] = {
    "dram": "DRAM", "l2": "L2", "l1": "L1", "fp32": "FP32", "fp64": "FP64", "fp16_vector": "FP16 vector",
    "fp64_tensor": "FP64 tensor", "tf32": "TF32 tensor", "bf16": "BF16 tensor", "fp16": "FP16 tensor",
    "fp8": "FP8 tensor", "fp4": "FP4 tensor",
}  # fmt: skip


def ceilings_of(seen: Seen) -> tuple[Ceiling, ...]:
    """The roofs that percentages are of; behind them, where the board has measured ones, those or the spec's beside."""
    chosen = _roofs_of_levels(seen.bandwidth) + _roofs_of_types(seen, seen.peak)
    if seen.profile.ceilings is None:
        return tuple(chosen)
    other: RoofChoice = "spec" if seen.choice == MEASURED else "measured"
    beside = Seen(seen.profile, other)
    more = _roofs_of_levels(beside.bandwidth) + _roofs_of_types(seen, beside.peak)
    known = {(one.name, one.source) for one in chosen}
    named = (one for one in more if (one.name, one.source) not in known)
    return (*chosen, *(_beside(one) for one in named))


def _beside(one: Ceiling) -> Ceiling:
    """Named such that it is told from the roof it stands beside."""
    return msgspec.structs.replace(one, name=f"{one.name}{BESIDE}{one.source.partition(',')[0]}")


def _roofs_of_levels(bandwidth: Callable[[Level], Roof | None]) -> list[Ceiling]:
    return [
        Ceiling(name=_CEILING_NAMES[level], level=level, source=roof.source, bandwidth_gbs=roof.per_second / 1e9)
        for level in LEVELS
        if (roof := bandwidth(level)) is not None
    ]


def _roofs_of_types(seen: Seen, peak: Callable[[str], Roof | None]) -> list[Ceiling]:
    """Of each type that the launch has FLOP of; of FP32 where it has none."""
    return [
        Ceiling(
            name=_CEILING_NAMES.get(of, of), level="compute", source=roof.source, peak_tflops=roof.per_second / 1e12
        )
        for of in seen.work or ("fp32",)
        if (roof := peak(of)) is not None
    ]


def points_of(seen: Seen) -> tuple[Point, ...]:
    flop, quantities = seen.flop.total, seen.quantities
    achieved = scaled(rate(flop, quantities), 1e12)
    return tuple(
        Point(
            name=_CEILING_NAMES[level],
            level=level,
            arithmetic_intensity=intensity(flop, moved),
            achieved_tflops=achieved,
            bandwidth_gbs=scaled(rate(moved, quantities), 1e9),
        )
        for level in LEVELS
        if (moved := bytes_at(level, quantities)) is not None
    )


def ridges_of(ceilings: Iterable[Ceiling]) -> tuple[Ridge, ...]:
    """The ridge point of every bandwidth with every peak, of the roofs that percentages are of."""
    roofs = tuple(one for one in ceilings if not one.is_beside)
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
