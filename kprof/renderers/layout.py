"""Lines of text on a terminal: width, colour, and what is left of text that user code wrote."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterable, Sequence
from typing import Final, Literal

from tabulate import MIN_PADDING, tabulate

from kprof.evidence import Record
from kprof.renderers.content import Section, Table, Tone, Verdict

Colour = Literal["red", "green", "yellow", "bold"]
_CODES: Final[dict[Colour, str]] = {"red": "1;31", "green": "1;32", "yellow": "1;33", "bold": "1"}
_COLOURS: Final[dict[Tone, Colour]] = {"good": "green", "bad": "red", "doubt": "yellow", "plain": "bold"}
LABEL_WIDTH: Final = 9
"""Room for the word that a line of the verdict begins with."""
LEAST_WIDTH: Final = 40
_LEAST_NAME: Final = 12
_GAP: Final = 2
_LONGEST_TEXT: Final = 800
"""Characters of a paragraph; what is longer is a name or a log that got into a message."""
_ASCII_OF: Final = str.maketrans({"…": "...", "─": "-"})
_WORD: Final = re.compile(r"\S+")


class Style(Record, frozen=True, kw_only=True):
    """How to write."""

    width: int = 80
    color: bool = False
    ascii_only: bool = False

    def paint(self, text: str, colour: Colour) -> str:
        """``text`` in a colour, where colour was asked for."""
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.color else text

    def clean(self, text: str) -> str:
        """One line without control characters (user code may print escapes), in ASCII where that was asked for."""
        return " ".join(self.verbatim(text).split())

    def verbatim(self, text: str) -> str:
        """`clean`, with the spaces kept: a compiler's caret stands under what it means."""
        line = "".join(char if char.isprintable() else " " for char in text.expandtabs())
        return line.translate(_ASCII_OF).encode("ascii", "replace").decode("ascii") if self.ascii_only else line

    def shorten(self, text: str, width: int) -> str:
        """``text`` in at most ``width`` columns, cut in the middle: both ends of a name tell it from others."""
        if len(text) <= width:
            return text
        mark = "..." if self.ascii_only else "…"
        room = max(width - len(mark), 2)
        tail = room // 2
        return f"{text[: room - tail]}{mark}{text[len(text) - tail :]}"

    def heading(self, title: str) -> str:
        """A rule with a title in it, as wide as the page."""
        rule = "-" if self.ascii_only else "─"
        return self.paint(f"{rule * 2} {title} ".ljust(self.width, rule), "bold")

    def wrapped(self, text: str, *, indent: str = "", first: str | None = None) -> list[str]:
        """``text`` wrapped to the page, never empty; a word wider than the page is cut in its middle."""
        start = indent if first is None else first
        room = self.width - max(len(indent), len(start))
        words = _WORD.sub(lambda word: self.shorten(word.group(), room), self.clean(text))
        return textwrap.wrap(
            self.shorten(words, _LONGEST_TEXT),
            self.width,
            initial_indent=start,
            subsequent_indent=indent,
            break_on_hyphens=False,
        ) or [start.rstrip()]

    def verdict(self, one: Verdict) -> list[str]:
        """A word in the margin, the rest wrapped beside it."""
        indent = " " * LABEL_WIDTH
        lines = self.wrapped(one.text, indent=indent)
        lines[0] = self.paint(one.label.ljust(LABEL_WIDTH), _COLOURS[one.tone]) + lines[0][LABEL_WIDTH:]
        for sentence in one.more:
            lines += self.wrapped(sentence, indent=indent)
        return lines + [self.shorten(f"{indent}| {self.verbatim(line)}", self.width) for line in one.log]

    def section(self, section: Section) -> list[str]:
        """A heading, and what stands below it."""
        lines = [self.heading(self.shorten(self.clean(section.title), self.width - 6))]
        margin = max((len(label) for label, _ in section.facts), default=0) + _GAP
        for label, text in section.facts:
            lines += self.wrapped(text, indent=" " * margin, first=label.ljust(margin))
        for index, table in enumerate(section.tables):
            lines += ([""] if index else []) + self.fitted(table)
        for note in section.notes:
            lines += self.wrapped(note, indent="  ", first=section.mark)
        return lines

    def fitted(self, table: Table) -> list[str]:
        """A table that fits the page: spare columns go first, then the middle of names."""
        kept = [index for index in range(len(table.headers)) if index not in table.spare]
        everything = list(range(len(table.headers)))
        cells = [[self.clean(cell) for cell in row] for row in (table.headers, *table.rows)]
        columns = everything if _fits(cells, everything, self.width) else kept
        others = sum(_widest(cells, index) + _GAP for index in columns[1:])
        for row in cells:
            row[0] = self.shorten(row[0], max(self.width - others, _LEAST_NAME))
        headers, *rows = ([row[index] for index in columns] for row in cells)
        return self.table(headers, rows, [place for place, index in enumerate(columns) if index in table.words])

    def table(self, headers: Sequence[str], rows: Iterable[Sequence[str]], words: Collection[int] = (0,)) -> list[str]:
        """A table, the columns ``words`` to the left and numbers to the right, no line wider than the page."""
        align = ["left" if index in words else "right" for index in range(len(headers))]
        made = tabulate(list(rows), headers, tablefmt="plain", colalign=align, disable_numparse=True)
        return [self.shorten(line.rstrip(), self.width) for line in made.splitlines()]


def _widest(cells: list[list[str]], column: int) -> int:
    """tabulate leaves room beside a header."""
    return max(len(cells[0][column]) + MIN_PADDING, *(len(row[column]) for row in cells[1:]), 0)


def _fits(cells: list[list[str]], columns: Sequence[int], width: int) -> bool:
    """With names cut to the least that is left of them."""
    return min(_widest(cells, 0), _LEAST_NAME) + sum(_widest(cells, index) + _GAP for index in columns[1:]) <= width
