"""Marks that all parts of the plot share: text as it stands, points, numbers beside them."""

from __future__ import annotations

import math
from typing import Any, Final

from kprof.blocks.roofline_records import Point
from kprof.evidence import Side
from kprof.renderers.plot.placing import Box, Placer, centred
from kprof.renderers.plot.scene import Kernel
from kprof.renderers.plot.svg import point_id
from kprof.renderers.plot.theme import FILLS, INK, LEVELS, MARKERS, PAPER

_WHOLE: Final = 22.0
"""Diameter in points of a kernel with all of the time; its area shrinks with the share."""
_LEAST: Final = 5.0
_UNKNOWN: Final = 8.0
_SQUARE: Final = math.sqrt(math.pi) / 2
"""Side of a square over the diameter of a circle of the same area."""
_NUMBER_SIZE: Final = 8.0
_DIGIT: Final = 5.6
"""Width of a digit of that size, in points."""
_GAP: Final = 2.0
_AROUND: Final = tuple(
    (math.cos(eighth * math.pi / 4), math.sin(eighth * math.pi / 4)) for eighth in (2, 1, 0, 7, 6, 5, 4, 3)
)
"""Directions in which a number may stand, the best first: above, then round to the right."""
_LEADER: Final[dict[str, Any]] = {"arrowstyle": "-", "linewidth": 0.5, "color": INK, "shrinkA": 4}
_RINGS: Final = (0.0, 8.0, 18.0)


def text(where: Any, x: float, y: float, content: str, **how: Any) -> Any:
    """Text as it stands: a dollar sign begins no formula."""
    return where.text(x, y, content, parse_math=False, **how)


def diameter(share: float | None) -> float:
    """Of a point, in points: its area is proportional to the share."""
    return _UNKNOWN if share is None else max(_LEAST, _WHOLE * math.sqrt(min(max(share, 0.0), 1.0)))


def draw_point(axes: Any, x: float, y: float, kernel: Kernel, point: Point) -> None:
    """One point: the shape says whose, the fill which level, the area how much of the time."""
    draw_mark(
        axes,
        (x, y),
        kernel.side,
        point.level,
        diameter(kernel.share),
        zorder=4 - (kernel.share or 0.0) + (0.1 if kernel.side == "kernel" else 0.0),
        gid=point_id(kernel.number, point.level),
    )


def draw_mark(
    axes: Any, place: tuple[float, float], side: Side | None, level: str, size: float, colour: str = "", **how: Any
) -> None:
    """A mark as wide as a circle of that diameter, or of its area: full at DRAM, half full at L2, hollow at L1."""
    colour = colour or LEVELS[level]
    axes.plot(
        [place[0]],
        [place[1]],
        marker=MARKERS[side],
        markersize=size * (_SQUARE if MARKERS[side] == "s" else 1.0),
        fillstyle=FILLS[level],
        markerfacecolor=colour,
        markerfacecoloralt="none",
        markeredgecolor=PAPER if FILLS[level] == "full" else colour,
        markeredgewidth=0.8 if FILLS[level] == "full" else 1.1,
        linestyle="none",
        clip_on=False,
        **how,
    )


def point_box(place: tuple[float, float], share: float | None) -> Box:
    """What a point takes."""
    size = diameter(share)
    return centred(*place, size, size)


def draw_number(axes: Any, placer: Placer, place: tuple[float, float], kernel: Kernel) -> None:
    """The kernel's number beside its point, where there is room; a line leads to it where that is not next to it."""
    content = str(kernel.number)
    width, radius = _DIGIT * len(content), diameter(kernel.share) / 2
    spots = []
    for ring in _RINGS:
        for across, up in _AROUND:
            reach = radius + _GAP + ring
            spots.append((place[0] + across * (reach + width / 2), place[1] + up * (reach + _NUMBER_SIZE / 2), ring))
    chosen = placer.best(centred(x, y, width, _NUMBER_SIZE) for x, y, _ in spots)
    if chosen is None:
        return
    x, y, ring = spots[chosen]
    axes.annotate(
        content,
        place,
        (x, y),
        xycoords="figure points",
        textcoords="figure points",
        ha="center",
        va="center_baseline",
        size=_NUMBER_SIZE,
        color=INK,
        zorder=6,
        annotation_clip=False,
        arrowprops={**_LEADER, "shrinkB": radius} if ring else None,
    )
