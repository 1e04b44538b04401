"""Lines of text that may hold a table, taken apart into rows.

ncu, the program it ran and warnings share a stream, so a table has noise before it, in it and after it. Only a line
that begins like a launch's row may go on in the next one; a quote that any other line opens ends with it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_ROW: Final = re.compile(r'(?:"[0-9]+"|[0-9]+),')
"""How the row of a launch begins."""
_NEXT_ROW: Final = re.compile(r'"(?:[0-9]*|ID)","|[0-9]+,(?:"|[0-9])|ID,|,,')
"""How a row of any kind begins for sure: where a cell over several lines ends, closed or not."""
_KERNEL_NAME: Final = '"Kernel Name"'
_HEADER: Final = re.compile(rf'(?<=[^,])"ID",(?=.*{_KERNEL_NAME})')
"""A header behind a program's last words, which had no line end."""
_ENDS: Final = ("\n", "\r")
_LONGEST_CELL: Final = 1 << 24
"""Characters of a row over several lines at most; a quote that nobody closed would go on to the end of the file."""
_FIELD_LIMIT: Final = 1 << 30
"""Characters of a cell for the csv module, whose default of 131,072 some kernel names exceed."""


@dataclass(frozen=True)
class Line:
    """One line, or several where a quoted cell holds line ends.

    Attributes:
        number: of its first line, from 1.
        text: without the end of the line.
        cells: of the row that it is or may be; none where it has no comma.
    """

    number: int
    text: str
    cells: Sequence[str]


def split_rows(lines: Iterable[str]) -> Iterator[Line]:
    """The lines that are not blank, with their cells."""
    held: list[tuple[int, str]] = []
    length = 0
    for number, raw in enumerate(lines, 1):
        if not raw.endswith(_ENDS):
            raw += "\n"
        if held:
            if _NEXT_ROW.match(raw) or length > _LONGEST_CELL:
                yield from _cut(held)
                held.clear()
            else:
                held.append((number, raw))
                length += len(raw)
                if raw.count('"') % 2:
                    yield from _single(held[0][0], "".join(text for _, text in held))
                    held.clear()
                continue
        text = raw.lstrip("\ufeff") if number == 1 else raw
        glued = _HEADER.search(text) if _KERNEL_NAME in text else None
        if glued is not None:
            yield from _single(number, text[: glued.start()])
            text = text[glued.start() :]
        if _ROW.match(text) and text.count('"') % 2:
            held.append((number, text))
            length = len(text)
        else:
            yield from _single(number, text)
    yield from _cut(held)


def _single(number: int, text: str) -> Iterator[Line]:
    text = text.rstrip("\r\n")
    if text.strip():
        yield Line(number, text, _cells(text) if "," in text else ())


def _cut(held: list[tuple[int, str]]) -> Iterator[Line]:
    """A row whose last quote was never closed, without the cell that it opened; what came after it stands alone."""
    for place, (number, text) in enumerate(held):
        for line in _single(number, text):
            yield line if place else Line(number, line.text, line.cells[:-1])


def _cells(text: str) -> list[str]:
    # Where every cell is quoted and none holds a quote, cutting at the separators says the same as the csv module, in
    # a fifth of the time: rows of a full report have over 2,000 cells.
    if text[:1] == '"' and text[-1:] == '"':
        pieces = text[1:-1].split('","')
        if text.count('"') == 2 * len(pieces):
            return pieces
    former = csv.field_size_limit(_FIELD_LIMIT)
    try:
        return next(csv.reader([text]), [])
    except csv.Error:
        return []
    finally:
        csv.field_size_limit(former)
