"""The main part of the plot: roofs, ridge points and the kernels under them, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from kprof.blocks.roofline_records import BESIDE, Ceiling, Point
from kprof.renderers import quantities
from kprof.renderers.plot.marks import draw_number, draw_point, point_box
from kprof.renderers.plot.placing import Box, Placer, centred
from kprof.renderers.plot.scene import Kernel, Scene
from kprof.renderers.plot.theme import INK, LEVELS, MUTED

_LABEL_SIZE: Final = 8.0
_LETTER: Final = 5.2
"""Mean width of a letter of that size, in points."""
_MOST_RIDGE_LABELS: Final = 6
_JOINED: Final = 12
"""Up to so many kernels the points of each are joined: beyond, lines would hide what they join."""
_SAME: Final = 1.01
"""Peaks closer than this factor are one line."""
_ALONG: Final = (0.03, 0.2, 0.4, 0.6, 0.75)
"""Where along a slanted roof its label may begin."""
_BESIDE: Final[dict[str, Any]] = {"linewidth": 0.9, "linestyle": (0, (4, 3))}
"""Roofs that percentages are not of, beside those that they are."""
Place = tuple[float, float]


def draw_roof(axes: Any, scene: Scene) -> None:
    """Fill the axes."""
    _frame(axes, scene)
    box = axes.get_window_extent()
    placer = Placer((box.x0, box.y0, box.x1, box.y1))
    to_page: Callable[[Place], Place] = lambda place: tuple(axes.transData.transform(place))  # noqa: E731
    places = {
        (kernel.number, point.level): _place(point, kernel, scene) for kernel in scene.rated for point in kernel.points
    }
    placer.taken += [
        point_box(to_page(place), kernel.share)
        for kernel in scene.rated
        for point in kernel.points
        if (place := places[kernel.number, point.level]) is not None
    ]
    _bandwidths(axes, scene, placer, to_page)
    _peaks(axes, scene, placer, to_page)
    _ridges(axes, scene, placer, to_page)
    _points(axes, scene, placer, to_page, places)


def number_axis(axis: Any) -> None:
    """Plain numbers at the decades."""
    axis.set_major_locator(LogLocator(10.0, numticks=12))
    axis.set_minor_locator(LogLocator(10.0, subs=tuple(range(2, 10)), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if 1 <= value < 1e6 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def plain_frame(axes: Any) -> None:
    """No box round it, ticks that do not shout."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(which="both", labelsize=8)
    axes.tick_params(which="minor", length=2, width=0.5)
    axes.set_axisbelow(True)


def _frame(axes: Any, scene: Scene) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*scene.intensities)
    axes.set_ylim(*scene.rates)
    plain_frame(axes)
    number_axis(axes.xaxis)
    number_axis(axes.yaxis)
    axes.grid(which="major")
    axes.set_xlabel("arithmetic intensity, FLOP/byte of the level")
    axes.set_ylabel("TFLOP/s")


def _place(point: Point, kernel: Kernel, scene: Scene) -> Place | None:
    """Where a point stands; at the edge where its intensity lies beyond."""
    if kernel.tflops is None:
        return None
    low, high = scene.intensities
    return min(max(scene.intensity(point), low), high), kernel.tflops


def _bandwidths(axes: Any, scene: Scene, placer: Placer, to_page: Callable[[Place], Place]) -> None:
    """A slanted line a level, up to the highest peak."""
    (low, high), (bottom, top) = scene.intensities, scene.rates
    highest = max((one.peak_tflops or 0.0 for one in scene.compute), default=0.0) or top
    for ceiling in scene.memory:
        slope = (ceiling.bandwidth_gbs or 0.0) / 1e3  # TFLOP/s at 1 FLOP/byte
        start, end = max(low, bottom / slope), min(high, highest / slope)
        if start >= end:
            continue
        colour = LEVELS.get(ceiling.level, INK)
        width = 1.8 if ceiling.level == "dram" else 1.2
        how: dict[str, Any] = _BESIDE if ceiling.is_beside else {"linewidth": width}
        axes.plot([start, end], [start * slope, end * slope], color=colour, zorder=2, **how)
        if ceiling.is_beside:
            continue
        others = _beside([ceiling.name], [(one.name, one.bandwidth_gbs or 0.0, 4) for one in scene.memory])
        label = f"{ceiling.name} {quantities.bandwidth(ceiling.bandwidth_gbs or 0.0)}{others}"
        _slanted_label(axes, placer, label, colour, to_page((start, start * slope)), to_page((end, end * slope)))


def _beside(names: Sequence[str], roofs: Sequence[tuple[str, float, int]]) -> str:
    """The other values of the same roofs, told with the line that percentages are of: the two lie close together.

    Args:
        names: of one line.
        roofs: name, value and digits to show of each roof there is.
    """
    found: dict[str, list[str]] = {}
    for name, value, digits in roofs:
        of, mark, source = name.partition(BESIDE)
        if mark and of in names:
            found.setdefault(source, []).append(quantities.significant(value, digits))
    told = [f"{source} {', '.join(values)}" for source, values in found.items()]
    return f" ({'; '.join(told)})" if told else ""


def _slanted_label(axes: Any, placer: Placer, label: str, colour: str, start: Place, end: Place) -> None:
    """Along the line and above it, where there is room."""
    across, up = end[0] - start[0], end[1] - start[1]
    length, angle = math.hypot(across, up), math.atan2(up, across)
    wide = _LETTER * len(label)
    spots: list[Place] = []
    boxes: list[list[Box]] = []
    for along in _ALONG:
        if along * length + wide > length and along != _ALONG[0]:
            continue
        x, y = start[0] + along * across - 3 * math.sin(angle), start[1] + along * up + 3 * math.cos(angle)
        spots.append((x, y))
        boxes.append(list(_along(x, y, wide, angle)))
    costs = [sum(placer.cost(box) for box in found) for found in boxes]
    chosen = min(range(len(costs)), key=costs.__getitem__)
    placer.taken += boxes[chosen]
    axes.annotate(
        label, spots[chosen], xycoords="figure points", rotation=math.degrees(angle), rotation_mode="anchor",
        ha="left", va="bottom", size=_LABEL_SIZE, color=colour, zorder=5, annotation_clip=False,
    )  # fmt: skip


def _along(x: float, y: float, wide: float, angle: float) -> Iterator[Box]:
    """A slanted line of text as a row of squares."""
    step = _LABEL_SIZE
    for index in range(math.ceil(wide / step)):
        at = (index + 0.5) * step
        middle = step / 2
        yield centred(
            x + at * math.cos(angle) - middle * math.sin(angle), y + at * math.sin(angle) + middle * math.cos(angle),
            step, step,
        )  # fmt: skip


def _peaks(axes: Any, scene: Scene, placer: Placer, to_page: Callable[[Place], Place]) -> None:
    """A flat line a peak, from the fastest level's slope on; equal peaks are one line with both names."""
    low, high = scene.intensities
    fastest = max((one.bandwidth_gbs or 0.0 for one in scene.memory), default=0.0) / 1e3
    for peak, names in _joined(scene.compute):
        start = max(low, peak / fastest) if fastest else low
        how: dict[str, Any] = _BESIDE if all(BESIDE in name for name in names) else {"linewidth": 1.4}
        axes.plot([start, high], [peak, peak], color=INK, zorder=2, **how)
        main = [name for name in names if BESIDE not in name]
        if not main:
            continue
        others = _beside(main, [(one.name, one.peak_tflops or 0.0, 3) for one in scene.compute])
        label = f"{', '.join(main)} {quantities.rate(peak)}{others}"
        wide = _LETTER * len(label)
        begin, end = to_page((start, peak)), to_page((high, peak))
        spots = [
            (x, end[1] + above)
            for x in (end[0] - wide - 2, *(end[0] - wide * step for step in (1.6, 2.2, 2.8)))
            for above in (2.5, -2.5 - _LABEL_SIZE)
            if x >= begin[0] or x == end[0] - wide - 2
        ]
        chosen = placer.best((x, y, x + wide, y + _LABEL_SIZE) for x, y in spots)
        x, y = spots[chosen or 0]
        axes.annotate(
            label, (x + wide, y), xycoords="figure points", ha="right", va="bottom", size=_LABEL_SIZE, color=INK,
            zorder=5, annotation_clip=False,
        )  # fmt: skip


def _joined(compute: Sequence[Ceiling]) -> list[tuple[float, list[str]]]:
    groups: list[tuple[float, list[str]]] = []
    for one in sorted(compute, key=lambda one: one.peak_tflops or 0.0):
        peak = one.peak_tflops or 0.0
        if groups and peak <= groups[-1][0] * _SAME:
            groups[-1][1].append(one.name)
        else:
            groups.append((peak, [one.name]))
    return groups


def _ridges(axes: Any, scene: Scene, placer: Placer, to_page: Callable[[Place], Place]) -> None:
    """A diamond at every ridge point; its intensity beside it, of all while they are few, else of DRAM's."""
    low, high = scene.intensities
    colours = {one.name: LEVELS.get(one.level, INK) for one in scene.memory}
    levels = {one.name: one.level for one in scene.memory}
    few = len(scene.ridges) <= _MOST_RIDGE_LABELS
    for ridge in scene.ridges:
        place = ridge.arithmetic_intensity, ridge.peak_tflops
        if not low <= place[0] <= high:
            continue
        colour = colours.get(ridge.bandwidth, INK)
        axes.plot([place[0]], [place[1]], marker="D", markersize=4.2, markerfacecolor=axes.get_facecolor(),
                  markeredgecolor=colour, markeredgewidth=1.1, linestyle="none", zorder=3)  # fmt: skip
        if few or levels.get(ridge.bandwidth) == "dram":
            _ridge_label(axes, placer, to_page(place), ridge.arithmetic_intensity, colour)


def _ridge_label(axes: Any, placer: Placer, place: Place, intensity: float, colour: str) -> None:
    content = quantities.significant(intensity, 3)
    wide = _LETTER * len(content)
    spots = [(place[0] + x, place[1] + y) for x, y in ((2 + wide / 2, -8), (0, 9), (-4 - wide / 2, 8), (2, -18))]
    chosen = placer.best(centred(x, y, wide, _LABEL_SIZE) for x, y in spots)
    if chosen is not None:
        axes.annotate(content, spots[chosen], xycoords="figure points", ha="center", va="center", size=7.5,
                      color=colour, zorder=5, annotation_clip=False)  # fmt: skip


def _points(
    axes: Any,
    scene: Scene,
    placer: Placer,
    to_page: Callable[[Place], Place],
    places: dict[tuple[int, str], Place | None],
) -> None:
    by_time = sorted(scene.rated, key=lambda one: -(one.share or 0.0))
    for kernel in by_time:
        found = [(point, place) for point in kernel.points if (place := places[kernel.number, point.level])]
        if len(scene.rated) <= _JOINED and len(found) > 1:
            across = [place[0] for _, place in found]
            axes.plot([min(across), max(across)], [found[0][1][1]] * 2, color=MUTED, linewidth=0.7, zorder=2.5)
        for point, place in found:
            draw_point(axes, *place, kernel, point)
    for kernel in by_time:
        first = places[kernel.number, kernel.points[0].level]
        if first is not None:
            draw_number(axes, placer, to_page(first), kernel)
