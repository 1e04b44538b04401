"""The roofline as PNG, on white."""

from __future__ import annotations

from kprof.renderers.plot.figure import draw, png_of
from kprof.renderers.plot.scene import scene_of
from kprof.report import Report


def render(report: Report) -> bytes:
    """The plot, the same bytes every time with the same matplotlib."""
    with draw(scene_of(report)) as figure:
        return png_of(figure)
