"""A comparison for people at a terminal."""

from __future__ import annotations

from kprof.comparison.records import Comparison
from kprof.renderers.compared.content import circumstances, sections, title, verdicts
from kprof.renderers.layout import LEAST_WIDTH, Style


def render(comparison: Comparison, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The comparison as text, one trailing newline; the arguments are those of a report's summary."""
    style = Style(width=max(width, LEAST_WIDTH), color=color, ascii_only=ascii_only)
    head = [style.paint(style.shorten(style.clean(title(comparison)), style.width), "bold")]
    for line in circumstances(comparison):
        head += style.wrapped(line, indent="   ", first="")
    verdict = [line for one in verdicts(comparison) for line in style.verdict(one)]
    parts = [head, verdict, *(style.section(one) for one in sections(comparison))]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"
