"""Drawing the plot with matplotlib, on a figure of its own: no pyplot, no display, no setting left changed."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import matplotlib
from matplotlib.figure import Figure

from kprof.renderers.plot.key import KEY_WIDTH, draw_key
from kprof.renderers.plot.marks import text
from kprof.renderers.plot.roof import draw_roof
from kprof.renderers.plot.scene import Scene
from kprof.renderers.plot.strip import draw_strip
from kprof.renderers.plot.theme import FONTS, GRID, INK, MUTED, PAPER

_WIDTH: Final = 11.2
_LEFT, _TOP, _BOTTOM = 0.75, 0.75, 0.6
_ROOF_HEIGHT: Final = 4.9
_STRIP_HEIGHT, _STRIP_GAP = 0.95, 0.75
_EMPTY_HEIGHT: Final = 1.6
_POINTS_PER_INCH: Final = 72
_PNG_DPI: Final = 144
_SALT: Final = "kprof"
_SETTINGS: Final[dict[str, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": _SALT,
    "font.family": list(FONTS),
    "font.size": 9,
    "text.usetex": False,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.facecolor": PAPER,
    "axes.linewidth": 0.8,
    "figure.facecolor": PAPER,
    "savefig.facecolor": "auto",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "path.simplify": True,
}
_NOT_OURS: Final = frozenset({"backend", "backend_fallback", "toolbar", "interactive", "date.epoch"})


@contextmanager
def draw(scene: Scene) -> Iterator[Figure]:
    """The figure; matplotlib's settings are those of kprof until the end of the block, whatever the user's are."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # a font that lacks a name's letters, a cache being made
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings: Any = {name: value for name, value in matplotlib.rcParamsDefault.items() if name not in _NOT_OURS}
        settings |= _SETTINGS
        with matplotlib.rc_context(settings):
            yield _empty(scene) if scene.absent is not None else _full(scene)


def svg_of(figure: Figure) -> str:
    """The figure as matplotlib writes it: the same bytes every time."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def png_of(figure: Figure) -> bytes:
    """The figure as PNG."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=_PNG_DPI, metadata={"Software": None}, pil_kwargs={"optimize": True})
    return out.getvalue()


def _full(scene: Scene) -> Figure:
    strip = _STRIP_HEIGHT + _STRIP_GAP if scene.flopless else 0.0
    height = _TOP + _ROOF_HEIGHT + strip + _BOTTOM
    figure = Figure(figsize=(_WIDTH, height), dpi=_POINTS_PER_INCH)
    width = _WIDTH - _LEFT - KEY_WIDTH

    def axes(left: float, bottom: float, wide: float, high: float) -> Any:
        return figure.add_axes((left / _WIDTH, bottom / height, wide / _WIDTH, high / height))

    _headline(figure, scene, height)
    draw_roof(axes(_LEFT, _BOTTOM + strip, width, _ROOF_HEIGHT), scene)
    if scene.flopless:
        draw_strip(axes(_LEFT, _BOTTOM, width, _STRIP_HEIGHT), scene)
    high = height - _TOP - 0.2
    draw_key(axes(_LEFT + width, 0.2, KEY_WIDTH, high), scene, KEY_WIDTH, high)
    return figure


def _headline(figure: Figure, scene: Scene, height: float) -> None:
    left = _LEFT / _WIDTH
    text(figure, left, 1 - 0.3 / height, scene.title, size=13, weight="bold", va="center")
    text(figure, left, 1 - 0.55 / height, scene.subtitle, size=9, color=MUTED, va="center")


def _empty(scene: Scene) -> Figure:
    figure = Figure(figsize=(_WIDTH, _EMPTY_HEIGHT), dpi=_POINTS_PER_INCH)
    reason = scene.absent
    assert reason is not None
    left = 0.3 / _WIDTH
    text(figure, left, 1 - 0.35 / _EMPTY_HEIGHT, scene.title, size=13, weight="bold", va="center")
    for row, line in enumerate((f"No roofline: {reason.message} ({reason.code}).", reason.hint)):
        text(figure, left, 1 - (0.75 + 0.3 * row) / _EMPTY_HEIGHT, line, size=9, color=MUTED, va="center")
    return figure
