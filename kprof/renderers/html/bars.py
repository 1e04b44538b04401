"""The bars of the page: where the time of a call goes, how busy the units are, why warps wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kprof.blocks.base import Block
from kprof.blocks.stalls import Stall, StallsBlock
from kprof.blocks.waterfall import WaterfallBlock
from kprof.counters.families import BENIGN_STATES
from kprof.renderers import quantities
from kprof.renderers.content import absent
from kprof.report import Blocks

_FULL: Final = 100.0
_LEAST_STALL_PCT: Final = 0.05


@dataclass(frozen=True)
class Part:
    """One part of a call's time; ``us`` is its length on the bar."""

    name: str
    meaning: str
    field: str
    us: float | None
    value: str
    why: str


@dataclass(frozen=True)
class Meter:
    """One share of a whole."""

    name: str
    percent: float | None
    value: str
    note: str
    why: str
    calm: bool = False
    """Nothing to worry about, however long."""

    @property
    def width(self) -> float:
        """Of the bar, in percent of its room: a rate over 100 % fills it, and its number says so."""
        return min(max(self.percent or 0.0, 0.0), _FULL)


_PARTS: Final = (
    ("gap", "gap_us", "waiting for the host", "before the first and after the last device work"),
    ("idle", "idle_us", "idle between kernels", "the device had nothing to do"),
    ("excess", "excess_us", "kernels above the floor", "busy for longer than the task needs"),
    ("floor", "floor_us", "floor", "the least time the task could take here"),
)
_BUSY: Final = ("busy", "busy_us", "kernels", "busy; how much of it the task needs is not known")


def time_parts(block: WaterfallBlock) -> tuple[Part, ...]:
    """The parts of one call, in order; where busy time cannot be split at the floor it is one part."""
    if block.host_us is None:
        return ()
    split = block.excess_us is not None and block.floor_us is not None
    chosen = _PARTS if split else (*_PARTS[:2], _BUSY, *_PARTS[2:])
    return tuple(_part(block, *one, on_bar=split or one[0] not in ("excess", "floor")) for one in chosen)


def _part(block: WaterfallBlock, name: str, field: str, meaning: str, more: str, *, on_bar: bool) -> Part:
    value: float | None = getattr(block, field)
    return Part(
        name=name,
        meaning=f"{meaning}: {more}",
        field=field,
        us=value if on_bar else None,
        value="" if value is None else quantities.duration(value),
        why="" if value is not None else absent(block, field),
    )


def unit_meters(blocks: Blocks) -> tuple[Meter, ...]:
    """How busy each unit is, and what the caches answer."""
    sol, roofline, occupancy, caches = blocks.sol, blocks.roofline, blocks.occupancy, blocks.caches
    dram = "" if roofline.dram_bandwidth_gbs is None else quantities.bandwidth(roofline.dram_bandwidth_gbs)
    peak = "" if roofline.peak_bandwidth_gbs is None else f" of {quantities.bandwidth(roofline.peak_bandwidth_gbs)}"
    limiter = f"limited by {occupancy.limiter.replace('_', ' ')}" if occupancy.limiter else ""
    fits = "" if occupancy.theoretical_pct is None else f"{quantities.share(occupancy.theoretical_pct)} would fit, "
    found = (
        _meter(sol, "DRAM", "dram_util_pct", f"{dram}{peak}"),
        _meter(sol, "busiest memory level", "memory_util_pct"),
        _meter(sol, "issue slots", "issue_util_pct"),
        _meter(sol, "busiest math pipe", "dominant_pipe_pct", sol.dominant_pipe or ""),
        _meter(roofline, "FLOP rate over what the roof allows", "roofline_pct", _attainable(blocks)),
        _meter(occupancy, "occupancy", "achieved_pct", f"{fits}{limiter}".rstrip(", ")),
        _meter(caches, "L1 hits", "l1_hit_pct"),
        _meter(caches, "L2 hits", "l2_hit_pct"),
        _meter(caches, "bytes used of sectors loaded", "ld_efficiency_pct"),
        _meter(caches, "bytes used of sectors stored", "st_efficiency_pct"),
    )
    return tuple(one for one in found if one is not None)


def _attainable(blocks: Blocks) -> str:
    limit = blocks.roofline.attainable_tflops
    return "" if limit is None else f"{quantities.rate(limit)} attainable"


def _meter(block: Block, name: str, field: str, note: str = "") -> Meter | None:
    """None where the whole block is absent: its reason is told once."""
    if block.status in ("unavailable", "skipped", "failed"):
        return None
    value: float | None = getattr(block, field)
    told = "" if value is None else quantities.share(value)
    return Meter(name, value, told, note, "" if value is not None else absent(block, field))


def stall_meters(block: StallsBlock) -> tuple[Meter, ...]:
    """Every state that warps were in for long enough to be seen, longest first."""
    return tuple(_stalls(block.all or ()))


def _stalls(states: tuple[Stall, ...]) -> Iterator[Meter]:
    for one in states:
        if one.share_pct is None or one.share_pct < _LEAST_STALL_PCT:
            continue
        cycles = one.cycles_per_instruction
        note = "" if cycles is None else f"{quantities.significant(cycles, 3)} cycles/instruction"
        calm = one.reason in BENIGN_STATES
        name = f"{one.reason} (no stall)" if calm else one.reason
        yield Meter(name, one.share_pct, quantities.percent(one.share_pct), note, "", calm)
