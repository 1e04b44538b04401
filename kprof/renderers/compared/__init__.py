"""Renderers of a comparison: ``render(comparison, ...)`` returns text, as those of a report do.

`COMPARED_FORMATS` is the one list of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from kprof.renderers import Format

if TYPE_CHECKING:
    from kprof.comparison.records import Comparison
    from kprof.renderers.layout import Style

COMPARED_FORMATS: Final[dict[str, Format]] = {
    "text": Format(module="kprof.renderers.compared.text", suffixes=(".txt",), styled=True),
    "markdown": Format(module="kprof.renderers.compared.markdown", suffixes=(".md", ".markdown")),
    "json": Format(module="kprof.renderers.json", suffixes=(".json",)),
    "html": Format(module="kprof.renderers.compared.html", suffixes=(".html", ".htm")),
}
"""Every format of a comparison, by the name that ``--format`` takes."""


def render_compared(name: str, comparison: Comparison, style: Style) -> str:
    """The comparison in one of `COMPARED_FORMATS`; ``style`` is how text on a terminal is to look."""
    chosen = COMPARED_FORMATS[name]
    module = importlib.import_module(chosen.module)
    if name == "json":
        return str(module.render_json(comparison))
    how = {"width": style.width, "color": style.color, "ascii_only": style.ascii_only} if chosen.styled else {}
    return str(module.render(comparison, **how))
