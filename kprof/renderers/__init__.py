"""Renderers: a format is a module with ``render(report, ...)``, which returns text or bytes; none prints or computes.

`FORMATS` is the one list of them. A module is imported when its format is asked for: matplotlib and jinja2 cost no
command that does without.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from kprof.evidence import Record

if TYPE_CHECKING:
    from kprof.renderers.layout import Style
    from kprof.report import Report


class Format(Record, frozen=True, kw_only=True):
    """One format that a report can be written in."""

    module: str
    """Where its ``render`` is: ``render(report) -> str | bytes``."""
    suffixes: tuple[str, ...]
    """How names of such files end, the usual one first."""
    binary: bool = False
    """``render`` returns bytes, which no terminal can show; else text, which is written as UTF-8."""
    styled: bool = False
    """Made for a terminal: ``render(report, width=, color=, ascii_only=)``."""


FORMATS: Final[dict[str, Format]] = {
    "json": Format(module="kprof.renderers.json", suffixes=(".json",)),
    "text": Format(module="kprof.renderers.text", suffixes=(".txt",), styled=True),
    "markdown": Format(module="kprof.renderers.markdown", suffixes=(".md", ".markdown")),
    "csv": Format(module="kprof.renderers.csv", suffixes=(".csv",)),
    "svg": Format(module="kprof.renderers.svg", suffixes=(".svg",)),
    "png": Format(module="kprof.renderers.png", suffixes=(".png",), binary=True),
    "html": Format(module="kprof.renderers.html", suffixes=(".html", ".htm")),
}
"""Every format, by the name that ``--format`` takes."""


def render_as(name: str, report: Report, style: Style) -> bytes | str:
    """The report in one of `FORMATS`; ``style`` is how text on a terminal is to look, and no other format sees it."""
    chosen = FORMATS[name]
    render = importlib.import_module(chosen.module).render
    how = {"width": style.width, "color": style.color, "ascii_only": style.ascii_only} if chosen.styled else {}
    rendered: bytes | str = render(report, **how)
    return rendered


def format_of(file: PurePath, formats: Mapping[str, Format]) -> str | None:
    """Which of ``formats`` the end of a file's name asks for; None: it asks for none of them."""
    return next((name for name, one in formats.items() if file.suffix.lower() in one.suffixes), None)
