"""Lines of text on a terminal: width, colour, and what is left of text that user code wrote."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Sequence
from typing import Final, Literal

from tabulate import tabulate

from kprof.evidence import Record

Colour = Literal["red", "green", "yellow", "bold"]
_CODES: Final[dict[Colour, str]] = {"red": "1;31", "green": "1;32", "yellow": "1;33", "bold": "1"}
LABEL_WIDTH: Final = 9
"""Room for the word that a line of the verdict begins with."""


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
        return self.verbatim(" ".join(text.split()))

    def verbatim(self, text: str) -> str:
        """`clean`, with the spaces kept: a compiler's caret stands under what it means."""
        line = "".join(char if char.isprintable() else " " for char in text.expandtabs())
        return line.encode("ascii", "replace").decode("ascii") if self.ascii_only else line

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

    def labelled(self, label: str, text: str, colour: Colour) -> list[str]:
        """A verdict: a word in the margin, the rest wrapped beside it."""
        lines = self.wrapped(text, indent=" " * LABEL_WIDTH)
        return [self.paint(label.ljust(LABEL_WIDTH), colour) + lines[0][LABEL_WIDTH:], *lines[1:]]

    def wrapped(self, text: str, *, indent: str = "", first: str | None = None) -> list[str]:
        """``text`` wrapped to the page, never empty."""
        start = indent if first is None else first
        return textwrap.wrap(
            self.clean(text), self.width, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
        ) or [start]

    def table(self, headers: Sequence[str], rows: Iterable[Sequence[str]], words: Collection[int] = (0,)) -> list[str]:
        """A table, the columns ``words`` to the left and numbers to the right, no line wider than the page."""
        align = ["left" if index in words else "right" for index in range(len(headers))]
        made = tabulate(list(rows), headers, tablefmt="plain", colalign=align, disable_numparse=True)
        return [self.shorten(line.rstrip(), self.width) for line in made.splitlines()]
