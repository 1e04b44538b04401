"""The roofline as SVG: text stays text, hovering a point names it, light and dark follow the reader's setting."""

from __future__ import annotations

from kprof.renderers.plot.figure import draw, svg_of
from kprof.renderers.plot.scene import scene_of
from kprof.renderers.plot.svg import finished
from kprof.report import Report


def render(report: Report) -> str:
    """The plot, the same bytes every time; without an XML prolog, so that it can stand inside HTML."""
    scene = scene_of(report)
    with draw(scene) as figure:
        return finished(svg_of(figure), scene)
