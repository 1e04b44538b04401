"""The plot of the block ``roofline``: a point for each kernel of both sides at each level, under the roofs of all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from kprof.blocks.counter_analysis import CounterAnalysis, LaunchAnalysis, SideAnalysis
from kprof.blocks.roofline import RooflineBlock, roofline_block
from kprof.blocks.roofline_records import Ceiling, Point
from kprof.blocks.roofline_roofs import ridges_of
from kprof.evidence import Reason, Side
from kprof.kernelnames import base_name
from kprof.roofline import RoofChoice

MOST_KERNELS: Final = 64
"""More than that on one plot tell nothing apart; those with most time stay."""
_NO_TIME: Final = "launches_without_time"
_PLOTTED: Final = ("points", "ceilings", "ridges")
_Shape = tuple[int, int, int] | None


@dataclass(frozen=True)
class _Kernel:
    """Launches of one kernel in one configuration."""

    side: Side | None
    launches: tuple[LaunchAnalysis, ...]
    time_share: float | None
    """Of the time of its side's kernels."""

    @property
    def name(self) -> str:
        return base_name(self.launches[0].launch.name)


def with_plot(block: RooflineBlock, counters: CounterAnalysis, roof: RoofChoice) -> RooflineBlock:
    """The block with the plot of all kernels instead of that of their sum.

    Args:
        block: of the kernel's side as a whole.
        counters: both sides.
        roof: as the block was made with.
    """
    if block.points is None:
        return block
    kernels = [kernel for side in (counters.main, counters.ref) if side is not None for kernel in _kernels(side)]
    kept = set(sorted(range(len(kernels)), key=lambda index: -(kernels[index].time_share or 0.0))[:MOST_KERNELS])
    ceilings, points = list(block.ceilings or ()), list[Point]()
    reasons = {path: code for path, code in block.reasons.items() if not path.startswith(_PLOTTED)}
    for number, kernel in enumerate((kernels[index] for index in sorted(kept)), start=1):
        made = roofline_block(SideAnalysis(kernel.launches).profile, roof)
        ceilings += _further(made.ceilings or (), ceilings)
        for index, point in enumerate(made.points or ()):
            reasons |= _point_reasons(made, index, kernel, len(points))
            points.append(_named(point, kernel, number))
    return msgspec.structs.replace(
        block,
        points=tuple(points),
        ceilings=tuple(ceilings),
        ridges=ridges_of(ceilings),
        reasons=reasons | _ceiling_reasons(ceilings),
        warnings=(*block.warnings, *_left_out(len(kernels) - len(kept), len(kernels))),
    )


def _kernels(side: SideAnalysis) -> Iterable[_Kernel]:
    """The kernels of one side, those with most time first."""
    groups: dict[tuple[str, _Shape, _Shape], list[LaunchAnalysis]] = {}
    for one in side.launches:
        groups.setdefault((one.launch.name, one.launch.grid, one.launch.block), []).append(one)
    whole = _time(side.launches)
    shares = [(launches, _time(launches)) for launches in groups.values()]
    made = [
        _Kernel(launches[0].launch.side, tuple(launches), None if time is None or not whole else time / whole)
        for launches, time in shares
    ]
    return sorted(made, key=lambda kernel: -(kernel.time_share or 0.0))


def _time(launches: Sequence[LaunchAnalysis]) -> float | None:
    times = [one.duration_us for one in launches]
    return None if None in times else sum(time for time in times if time is not None)


def _named(point: Point, kernel: _Kernel, number: int) -> Point:
    return msgspec.structs.replace(
        point,
        name=kernel.name,
        side=kernel.side,
        launches=len(kernel.launches),
        time_share=kernel.time_share,
        number=number,
    )


def _point_reasons(made: RooflineBlock, index: int, kernel: _Kernel, position: int) -> dict[str, str]:
    """Why parts of a point are null: what the kernel's own block says, and what only the plot knows."""
    own = f"points[{index}]."
    found = {
        f"points[{position}].{path.removeprefix(own)}": code
        for path, code in made.reasons.items()
        if path.startswith(own) and path not in (f"{own}side", f"{own}time_share")
    }
    if kernel.side is None:
        found[f"points[{position}].side"] = "report_does_not_say"
    if kernel.time_share is None:
        found[f"points[{position}].time_share"] = _NO_TIME
    return found


def _further(ceilings: Iterable[Ceiling], known: Sequence[Ceiling]) -> list[Ceiling]:
    """Roofs of kinds that are not among the known ones: the pipes of the other side."""
    kinds = {(one.level, one.name) for one in known}
    return [one for one in ceilings if (one.level, one.name) not in kinds]


def _ceiling_reasons(ceilings: Sequence[Ceiling]) -> dict[str, str]:
    told = {"compute": ("bandwidth_gbs", "compute_roof")}
    absent = [told.get(one.level, ("peak_tflops", "memory_roof")) for one in ceilings]
    return {f"ceilings[{index}].{field}": code for index, (field, code) in enumerate(absent)}


def _left_out(count: int, kernels: int) -> tuple[Reason, ...]:
    if not count:
        return ()
    message = f"the plot has the {MOST_KERNELS} kernels with most time of {kernels}"
    return (Reason(code="plot_limited", message=message, hint="kernels[] has the points of every launch."),)
