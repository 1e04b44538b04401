"""Verdicts as a table for people, and the lines that say why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from kprof.gates.words import percent, shown
from kprof.renderers.layout import Colour, Style
from kprof.verdicts import Verdict, VerdictWord

WORDS: Final[dict[VerdictWord, str]] = {
    "pass": "pass",
    "fail": "FAIL",
    "inconclusive": "INCONCLUSIVE",
    "not_gated": "not gated",
}
HEADERS: Final = ("verdict", "gate", "value", "baseline", "change", "finds")
_COLOURS: Final[dict[VerdictWord, Colour]] = {
    "pass": "green",
    "fail": "red",
    "inconclusive": "yellow",
    "not_gated": "bold",
}
_NONE: Final = "-"
_GAP: Final = 2
"""Columns between two cells; tabulate leaves as many behind a heading."""
_LEAST_ROOM: Final = 16


def render(verdicts: Sequence[Verdict], *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The table, a line a verdict that is no plain pass, and how many there are of each; one trailing newline."""
    style = Style(width=max(width, 40), color=color, ascii_only=ascii_only)
    rows = [cells(one) for one in verdicts]
    columns = [index for index in range(len(HEADERS)) if index < 3 or any(row[index] != _NONE for row in rows)]
    widths = [max([len(HEADERS[index]) + _GAP, *(len(row[index]) for row in rows)]) for index in columns if index != 1]
    room = max(style.width - sum(widths) - _GAP * len(widths), _LEAST_ROOM)
    shown_rows = [[style.shorten(style.clean(row[index]), room) for index in columns] for row in rows]
    table = style.table([HEADERS[index] for index in columns], shown_rows, words=(0, 1))
    total = [style.paint(line, _worst(verdicts)) for line in style.wrapped(counted(verdicts))]
    return "\n".join([style.heading("gates"), *table, *_why(verdicts, style), *total]) + "\n"


def cells(verdict: Verdict) -> list[str]:
    """One row: verdict, gate, value, baseline, change, least regression that would be found."""
    return [
        WORDS[verdict.verdict],
        verdict.expression,
        _NONE if verdict.value is None else shown(verdict.value, verdict.unit),
        _NONE if verdict.baseline is None else shown(verdict.baseline, verdict.unit),
        _NONE if verdict.change_pct is None else percent(verdict.change_pct / 100.0),
        _NONE if verdict.mde_pct is None else f"{verdict.mde_pct:.2g} %",
    ]


def counted(verdicts: Sequence[Verdict]) -> str:
    """``1 FAIL, 2 pass``."""
    counts = Counter(one.verdict for one in verdicts)
    return ", ".join(f"{counts[word]} {told}" for word, told in WORDS.items() if counts[word]) or "no gate"


def _worst(verdicts: Sequence[Verdict]) -> Colour:
    found = {one.verdict for one in verdicts}
    return next((_COLOURS[word] for word in ("fail", "inconclusive", "pass") if word in found), "bold")


def _why(verdicts: Sequence[Verdict], style: Style) -> list[str]:
    lines: list[str] = []
    for one in verdicts:
        if one.verdict != "pass":
            hint = f". {one.hint}" if one.hint else ""
            told = f"{WORDS[one.verdict]} {one.metric}: {one.message} ({one.code}){hint}"
            lines += style.wrapped(told, indent="  ", first="")
        for warning in one.warnings:
            hint = f". {warning.hint}" if warning.hint else ""
            lines += style.wrapped(f"{one.metric}: {warning.code}: {warning.message}{hint}", indent="  ", first="! ")
    return lines
