"""The summary for people: the verdict first, then the numbers behind it, on one screen."""

from __future__ import annotations

from kprof.renderers.layout import LEAST_WIDTH, Style
from kprof.renderers.sections.summary import circumstances, sections, title
from kprof.renderers.sections.verdict import verdicts
from kprof.report import Report


def render(report: Report, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The summary as text, one trailing newline.

    Args:
        report: what to tell.
        width: columns of the page; no line is longer.
        color: ANSI colours on the verdict and the headings.
        ascii_only: no character outside ASCII.
    """
    style = Style(width=max(width, LEAST_WIDTH), color=color, ascii_only=ascii_only)
    head = [style.paint(style.shorten(style.clean(title(report)), style.width), "bold")]
    for line in circumstances(report):
        head += style.wrapped(line, indent="  ", first="" if line.startswith("on ") else "  ")
    verdict = [line for one in verdicts(report) for line in style.verdict(one)]
    parts = [head, verdict, *(style.section(one) for one in sections(report))]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"
