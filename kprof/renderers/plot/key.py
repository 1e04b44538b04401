"""The key beside the plot: which number is which kernel, and what shape, fill and size say."""

from __future__ import annotations

from typing import Any, Final

from kprof.evidence import SIDE_NAMES
from kprof.renderers import quantities
from kprof.renderers.layout import Style
from kprof.renderers.plot.marks import diameter, draw_mark, text
from kprof.renderers.plot.scene import LEVEL_NAMES, Kernel, Scene
from kprof.renderers.plot.theme import INK, MUTED

KEY_WIDTH: Final = 3.25
"""Inches."""
_ROW: Final = 0.19
_SIZE: Final = 8.0
_NAME_LETTERS: Final = 29
_LEFT: Final = 0.3
_STYLE: Final = Style()


def draw_key(axes: Any, scene: Scene, width: float, height: float) -> None:
    """Fill the axes, whose units are inches from its top left."""
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    row = _legend(axes, scene, 0.1)
    room = int((height - row - _ROW) / _ROW)
    kernels = sorted(scene.kernels, key=lambda one: -(one.share or 0.0))
    shown = kernels if len(kernels) <= room else kernels[: room - 1]
    text(axes, _LEFT, row, "kernels", size=_SIZE, weight="bold", va="center")
    text(axes, width - 0.1, row, "time", size=_SIZE, color=MUTED, va="center", ha="right")
    for kernel in sorted(shown, key=lambda one: one.number):
        row += _ROW
        _entry(axes, kernel, row, width)
    if len(shown) < len(kernels):
        more = f"and {len(kernels) - len(shown)} more, with less time"
        text(axes, _LEFT, row + _ROW, more, size=_SIZE, color=MUTED, va="center")


def _legend(axes: Any, scene: Scene, row: float) -> float:
    """Shapes and fills that occur; the row after them."""
    sides = {kernel.side for kernel in scene.kernels}
    levels = {point.level for kernel in scene.kernels for point in kernel.points}
    if "ref" in sides:
        across = _LEFT + 0.05
        for side, name in SIDE_NAMES.items():
            draw_mark(axes, (across, row), side, "dram", 9.0, INK)
            text(axes, across + 0.13, row, name, size=_SIZE, va="center")
            across += 0.95
        row += _ROW + 0.04
    across = _LEFT + 0.05
    for level, name in LEVEL_NAMES.items():
        if level in levels:
            draw_mark(axes, (across, row), None, level, 9.0)
            text(axes, across + 0.13, row, f"at {name}", size=_SIZE, va="center")
            across += 0.8
    row += _ROW + 0.06
    across = _LEFT + 0.05
    for share in (0.05, 0.25, 1.0):
        across += diameter(share) / 144
        draw_mark(axes, (across, row), None, "l1", diameter(share), MUTED)
        across += diameter(share) / 144 + 0.05
        name = quantities.percent(share * 100)
        text(axes, across, row, name if share < 1 else f"{name} of time", size=_SIZE, color=MUTED, va="center")
        across += 0.06 * len(name) + 0.1
    row += _ROW + 0.06
    if scene.ridges and scene.rated:
        axes.plot([_LEFT + 0.05], [row], marker="D", markersize=4.2, markerfacecolor="none", markeredgecolor=INK,
                  linestyle="none")  # fmt: skip
        text(axes, _LEFT + 0.18, row, "ridge point, FLOP/byte", size=_SIZE, va="center")
        row += _ROW
    if scene.reaches_edges:
        text(axes, _LEFT, row, "at an edge: beyond it, or no bytes there", size=_SIZE, color=MUTED, va="center")
        row += _ROW
    return row + 0.12


def _entry(axes: Any, kernel: Kernel, row: float, width: float) -> None:
    text(axes, _LEFT - 0.06, row, str(kernel.number), size=_SIZE, va="center", ha="right", color=MUTED)
    draw_mark(axes, (_LEFT + 0.05, row), kernel.side, "dram", 6.5, INK)
    times = f" x{kernel.points[0].launches}" if kernel.points[0].launches > 1 else ""
    name = _STYLE.shorten(kernel.name, _NAME_LETTERS - len(times))
    text(axes, _LEFT + 0.18, row, f"{name}{times}", size=_SIZE, va="center")
    share = "" if kernel.share is None else quantities.percent(kernel.share * 100)
    text(axes, width - 0.1, row, share, size=_SIZE, va="center", ha="right", color=MUTED)
