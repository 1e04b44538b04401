"""``kernels[]``: one entry a launch, with its counters where they were collected."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Annotated, Final

import msgspec

from kprof.blocks.base import NOT_FINITE, on_cuda
from kprof.blocks.bottleneck import BottleneckBlock, bottleneck_block
from kprof.blocks.caches import CachesBlock, caches_block
from kprof.blocks.counter_analysis import CounterAnalysis, LaunchAnalysis
from kprof.blocks.occupancy import OccupancyBlock, occupancy_block
from kprof.blocks.roofline import RooflineBlock, roofline_block
from kprof.blocks.sol import sol_block
from kprof.blocks.sol_records import SolBlock
from kprof.blocks.stalls import StallsBlock, stalls_block
from kprof.capture import Capture
from kprof.evidence import Record, Side
from kprof.kernelnames import base_name
from kprof.launches_evidence import Launch
from kprof.metrics import metric
from kprof.roofline import RoofChoice

_SELF: Final = "kprof"
_PROFILER: Final = "torch.profiler, device events of one call; ncu where there are none"
_SIDES: Final[tuple[Side, ...]] = ("kernel", "ref")
_NOT_COLLECTED: Final = "not_collected"
_NOT_PROFILED: Final = "not_profiled"
"""Code for a launch that the profiler saw and ncu did not: above the cap, or another kernel in that run."""


class KernelLaunch(Record, frozen=True, kw_only=True):
    """One launch of a kernel. The sub-objects are the blocks of the same name, for this launch alone."""

    id: Annotated[int, metric("index", "Position in launch order, the kernel's side first", source=_PROFILER)]
    name: Annotated[
        str, metric("text", "No return type, namespace, template arguments or parameters", source=_PROFILER)
    ]
    full_name: Annotated[str, metric("text", "As the profiler gave it", source=_PROFILER)]
    side: Annotated[
        Side | None, metric("text", "Whose call launched it; null: the report does not say", source=_PROFILER)
    ]
    device: Annotated[
        int | None, metric("index", "Index of the device in its process; null: the run's own", source="ncu")
    ] = None
    launch_id: Annotated[
        int | None, metric("index", "ncu's own ID of the launch, as its reports and windows show it", source="ncu")
    ] = None
    process_id: Annotated[int | None, metric("index", "The process that launched it", source="ncu")] = None
    grid: Annotated[tuple[int, int, int] | None, metric("count", "Blocks, x y z", source=_PROFILER)]
    block: Annotated[tuple[int, int, int] | None, metric("count", "Threads of a block, x y z", source=_PROFILER)]
    duration_us: Annotated[float | None, metric("us", "Time on the device", better="lower", source="duration_source")]
    duration_source: Annotated[str, metric("text", "What measured the duration", source=_SELF)]
    sol: Annotated[SolBlock | None, metric("record", "Speed of light", source=_SELF)] = None
    roofline: Annotated[RooflineBlock | None, metric("record", "Roofline", source=_SELF)] = None
    occupancy: Annotated[OccupancyBlock | None, metric("record", "Occupancy", source=_SELF)] = None
    caches: Annotated[CachesBlock | None, metric("record", "Caches", source=_SELF)] = None
    stalls: Annotated[StallsBlock | None, metric("record", "Stalls", source=_SELF)] = None
    bottleneck: Annotated[BottleneckBlock | None, metric("record", "Bottleneck", source=_SELF)] = None
    reasons: Annotated[
        dict[str, str], metric("text", "Code for every null here; the sub-objects have their own", source=_SELF)
    ] = msgspec.field(default_factory=dict)


_Shape = tuple[str, tuple[int, int, int] | None]


@dataclass(frozen=True)
class _Pair:
    """A launch as the profiler and as ncu saw it; one of the two may be absent."""

    side: Side | None
    seen: Launch | None
    counted: LaunchAnalysis | None


def kernel_launches(capture: Capture, counters: CounterAnalysis, roof: RoofChoice) -> tuple[KernelLaunch, ...]:
    """Every launch of both sides, in launch order; of an imported report all that it holds."""
    pairs = [pair for side in _SIDES for pair in _joined(side, _seen(capture, side), counters.of_side(side))]
    pairs += [_Pair(None, None, one) for one in counters.of_side(None)]
    absence = counters.absence.code if not counters.launches else _NOT_PROFILED
    return tuple(_entry(position, pair, absence, roof) for position, pair in enumerate(pairs))


def _seen(capture: Capture, side: Side) -> tuple[Launch, ...]:
    """The kernels of one side in the profiler's eyes."""
    evidence = capture.launches
    if evidence is None or "launches" not in capture.requested or not on_cuda(capture):
        return ()
    of_side = evidence.kernel if side == "kernel" else evidence.ref
    if of_side is None or of_side.absent is not None:
        return ()
    return tuple(launch for launch in of_side.launches if launch.kind == "kernel")


def _joined(side: Side, seen: Sequence[Launch], counted: Sequence[LaunchAnalysis]) -> Iterator[_Pair]:
    """Both lists in launch order. What only one of them has keeps its place, without the other's part."""
    ours = [(base_name(launch.name), launch.grid) for launch in seen]
    theirs = [(base_name(one.launch.name), one.launch.grid) for one in counted]
    blocks = SequenceMatcher(None, _keys(ours, theirs), _keys(theirs, ours), autojunk=False).get_matching_blocks()
    at, there = 0, 0
    for block in blocks:
        yield from (_Pair(side, launch, None) for launch in seen[at : block.a])
        yield from (_Pair(side, None, one) for one in counted[there : block.b])
        pairs = zip(seen[block.a : block.a + block.size], counted[block.b : block.b + block.size], strict=True)
        yield from (_Pair(side, launch, one) for launch, one in pairs)
        at, there = block.a + block.size, block.b + block.size


def _keys(ours: Sequence[_Shape], theirs: Sequence[_Shape]) -> list[_Shape]:
    """What launches are matched by: name and grid; the name alone where either list has no grids."""
    gridless = any(grid is None for _, grid in (*ours, *theirs))
    return [(name, None if gridless else grid) for name, grid in ours]


def _entry(position: int, pair: _Pair, absence: str, roof: RoofChoice) -> KernelLaunch:
    seen, counted = pair.seen, pair.counted
    name = seen.name if seen is not None else counted.launch.name if counted is not None else ""
    shape = seen if seen is not None and seen.grid is not None else counted.launch if counted is not None else None
    entry = KernelLaunch(
        id=position,
        name=base_name(name),
        full_name=name,
        side=pair.side,
        device=counted.launch.device if counted is not None else None,
        launch_id=counted.launch.launch_id if counted is not None else None,
        process_id=counted.launch.process_id if counted is not None else None,
        grid=shape.grid if shape is not None else None,
        block=shape.block if shape is not None else None,
        duration_us=seen.duration_us if seen is not None else counted.duration_us if counted is not None else None,
        duration_source="torch.profiler" if seen is not None else "ncu gpu__time_duration",
    )
    if counted is not None:
        entry = _with_counters(entry, counted, roof)
    finite = entry.duration_us is None or math.isfinite(entry.duration_us)
    entry = entry if finite else msgspec.structs.replace(entry, duration_us=None)
    untimed = counted.profile.quantities.missing.get("duration_ns", _NOT_COLLECTED) if counted is not None else ""
    codes = {
        "duration_us": untimed or _NOT_COLLECTED,
        **dict.fromkeys(_SUB_OBJECTS, absence),
        "side": "report_does_not_say",
    }
    reasons = {name: codes.get(name, _NOT_COLLECTED) for name in _NULLABLE if getattr(entry, name) is None}
    return msgspec.structs.replace(entry, reasons=reasons if finite else {**reasons, "duration_us": NOT_FINITE})


def _with_counters(entry: KernelLaunch, counted: LaunchAnalysis, roof: RoofChoice) -> KernelLaunch:
    profile = counted.profile
    return msgspec.structs.replace(
        entry,
        sol=sol_block(profile, roof=roof),
        roofline=roofline_block(profile, roof),
        occupancy=occupancy_block(profile),
        caches=caches_block(profile),
        stalls=stalls_block(profile),
        bottleneck=bottleneck_block(counted.verdict),
    )


_SUB_OBJECTS: Final = frozenset({"sol", "roofline", "occupancy", "caches", "stalls", "bottleneck"})
_NULLABLE: Final = tuple(name for name in KernelLaunch.__struct_fields__ if name != "reasons")
