"""Below the roof: the kernels without FLOP, by the bandwidth they reach at each level."""

from __future__ import annotations

from typing import Any, Final

from kprof.renderers.plot.marks import draw_number, draw_point, point_box
from kprof.renderers.plot.placing import Placer
from kprof.renderers.plot.roof import number_axis, plain_frame
from kprof.renderers.plot.scene import LEVEL_NAMES, Scene
from kprof.renderers.plot.theme import LEVELS

_ROWS: Final = {"dram": 2.0, "l2": 1.0, "l1": 0.0}


def draw_strip(axes: Any, scene: Scene) -> None:
    """Fill the axes."""
    axes.set_xscale("log")
    axes.set_xlim(*scene.bandwidths)
    axes.set_ylim(-0.6, 2.6)
    axes.set_yticks(list(_ROWS.values()), [LEVEL_NAMES[level] for level in _ROWS])
    plain_frame(axes)
    axes.tick_params(axis="y", length=0)
    number_axis(axes.xaxis)
    axes.grid(which="major", axis="x")
    axes.set_xlabel("kernels without FLOP: bandwidth of the level, GB/s (its roof: the upright line)")
    for ceiling in scene.memory:
        row = _ROWS[ceiling.level]
        axes.plot([ceiling.bandwidth_gbs] * 2, [row - 0.42, row + 0.42], color=LEVELS[ceiling.level], linewidth=1.8)
    _points(axes, scene)


def _points(axes: Any, scene: Scene) -> None:
    box = axes.get_window_extent()
    placer = Placer((box.x0, box.y0 - 4, box.x1 + 12, box.y1 + 12))
    by_time = sorted(scene.flopless, key=lambda one: -(one.share or 0.0))
    shown = [
        (kernel, point, (point.bandwidth_gbs, _ROWS[point.level]))
        for kernel in by_time
        for point in kernel.points
        if point.bandwidth_gbs
    ]
    places = [tuple(axes.transData.transform(place)) for _, _, place in shown]
    placer.taken += [point_box(place, kernel.share) for (kernel, _, _), place in zip(shown, places, strict=True)]
    numbered: set[int] = set()
    for (kernel, point, (across, row)), place in zip(shown, places, strict=True):
        draw_point(axes, across, row, kernel, point)
        if kernel.number not in numbered:
            numbered.add(kernel.number)
            draw_number(axes, placer, place, kernel)
