"""What stands on the plot, in the numbers of the report: no drawing here, and no matplotlib."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from kprof.blocks.roofline_records import Ceiling, Point, Ridge
from kprof.evidence import SIDE_NAMES, Reason, Side
from kprof.renderers import quantities
from kprof.renderers.layout import Style
from kprof.report import Report

LEVEL_NAMES: Final = {"dram": "DRAM", "l2": "L2", "l1": "L1"}
_ROOM: Final = 3.0
"""Factor between the outermost number and the edge."""
_FAR: Final = 1000.0
"""Points further than this factor from all ridge points stand at the edge."""
_LEAST_SPAN: Final = 1e3
_LONGEST_NAME: Final = 200
_STYLE: Final = Style()

Range = tuple[float, float]


@dataclass(frozen=True)
class Kernel:
    """One kernel: the same rate at every level."""

    number: int
    name: str
    side: Side | None
    share: float | None
    points: tuple[Point, ...]

    @property
    def tflops(self) -> float | None:
        return self.points[0].achieved_tflops

    @property
    def label(self) -> str:
        """``3. reduce_kernel (reference), 13.4 % of the time``."""
        whose = f" ({SIDE_NAMES[self.side]})" if self.side is not None else ""
        share = "" if self.share is None else f", {quantities.percent(self.share * 100)} of the time"
        return f"{self.number}. {self.name}{whose}{share}"


@dataclass(frozen=True)
class Scene:
    """The whole plot."""

    title: str
    subtitle: str
    memory: tuple[Ceiling, ...]
    compute: tuple[Ceiling, ...]
    ridges: tuple[Ridge, ...]
    rated: tuple[Kernel, ...]
    """Those with FLOP."""
    flopless: tuple[Kernel, ...]
    """Those without, or whose FLOP nobody counted: they have a bandwidth and no place under the roof."""
    intensities: Range
    """FLOP/byte."""
    rates: Range
    """TFLOP/s."""
    bandwidths: Range
    """GB/s, of the strip of those without FLOP."""
    absent: Reason | None
    """Why there is nothing to draw."""

    def intensity(self, point: Point) -> float:
        """FLOP/byte; endless where no bytes moved."""
        return math.inf if point.arithmetic_intensity is None else point.arithmetic_intensity

    @property
    def reaches_edges(self) -> bool:
        """Some point lies beyond an edge, and stands at it."""
        low, high = self.intensities
        return any(not low <= self.intensity(point) <= high for one in self.rated for point in one.points)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(sorted((*self.rated, *self.flopless), key=lambda one: one.number))


def scene_of(report: Report) -> Scene:
    """What the plot of a report shows."""
    block = report.blocks.roofline
    # A report read from a file may name a level that this kprof does not know.
    kernels = _kernels(point for point in block.points or () if point.level in LEVEL_NAMES)
    ceilings = block.ceilings or ()
    rated = tuple(one for one in kernels if one.tflops)
    flopless = tuple(one for one in kernels if not one.tflops and any(point.bandwidth_gbs for point in one.points))
    memory = tuple(one for one in ceilings if one.bandwidth_gbs is not None and one.level in LEVEL_NAMES)
    compute = tuple(one for one in ceilings if one.peak_tflops is not None)
    ridges = block.ridges or ()
    absent = None
    if not rated and not flopless:
        fallback = Reason(code="no_rate", message="no kernel has both bytes and a time", hint="")
        absent = block.reason if block.reason is not None and block.points is None else fallback
    return Scene(
        title=_title(report),
        subtitle=_subtitle(ceilings),
        memory=memory,
        compute=compute,
        ridges=ridges,
        rated=rated,
        flopless=flopless,
        intensities=_intensities(rated, ridges),
        rates=_rates(rated, compute),
        bandwidths=_bandwidths(flopless, memory),
        absent=absent,
    )


def where(point: Point) -> str:
    """``DRAM: 3.68 FLOP/byte, 10.6 TFLOP/s, 2878 GB/s``, without what is not known."""
    told = []
    if point.arithmetic_intensity is not None:
        told.append(f"{quantities.significant(point.arithmetic_intensity, 3)} FLOP/byte")
    if point.achieved_tflops is not None:
        told.append(quantities.rate(point.achieved_tflops))
    if point.bandwidth_gbs is not None:
        told.append(quantities.bandwidth(point.bandwidth_gbs))
    return f"{LEVEL_NAMES[point.level]}: {', '.join(told)}"


def _kernels(points: Iterable[Point]) -> tuple[Kernel, ...]:
    groups: dict[int, list[Point]] = {}
    for point in points:
        groups.setdefault(point.number, []).append(point)
    return tuple(
        Kernel(
            number=number,
            name=_STYLE.shorten(_STYLE.clean(of_one[0].name), _LONGEST_NAME),
            side=of_one[0].side,
            share=of_one[0].time_share,
            points=tuple(of_one),
        )
        for number, of_one in groups.items()
    )


def _title(report: Report) -> str:
    workload, environment = report.workload, report.environment
    imported = report.counters.report_file if report.counters is not None else None
    subject = PurePath(workload.kernel_file or imported or "roofline").name
    device = f" on {environment.device_name}" if environment.device_name else ""
    return _STYLE.shorten(_STYLE.clean(f"Roofline of {subject}{device}"), 90)


def _subtitle(ceilings: Sequence[Ceiling]) -> str:
    sources = ", ".join(dict.fromkeys(one.source.partition(",")[0] for one in ceilings))
    return _STYLE.clean(f"peaks dense, from {sources}") if sources else ""


def _positive(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None and value > 0 and math.isfinite(value)]


def _intensities(rated: Sequence[Kernel], ridges: Sequence[Ridge]) -> Range:
    """Those of points and ridges; points far from every ridge do not squeeze the rest."""
    points = _positive(point.arithmetic_intensity for one in rated for point in one.points)
    at_ridges = _positive(one.arithmetic_intensity for one in ridges)
    around = at_ridges or points or [1.0]
    low, high = min(around) / _FAR, max(around) * _FAR
    within = [value for value in points if low <= value <= high]
    return _spread(min([*at_ridges, *within], default=0.1) / _ROOM, max([*at_ridges, *within], default=100.0) * _ROOM)


def _rates(rated: Sequence[Kernel], compute: Sequence[Ceiling]) -> Range:
    achieved, peaks = _positive(one.tflops for one in rated), _positive(one.peak_tflops for one in compute)
    high = max([*achieved, *peaks], default=1.0) * 2.5
    return _spread(min([*achieved, *peaks], default=1e-3) / _ROOM, high)


def _bandwidths(flopless: Sequence[Kernel], memory: Sequence[Ceiling]) -> Range:
    found = _positive([point.bandwidth_gbs for one in flopless for point in one.points])
    peaks = _positive(one.bandwidth_gbs for one in memory)
    return _spread(min([*found, *peaks], default=1.0) / 2, max([*found, *peaks], default=1e3) * 2, 30.0)


def _spread(low: float, high: float, least: float = _LEAST_SPAN) -> Range:
    """The range, widened downwards where it is narrow."""
    return min(low, high / least), high
