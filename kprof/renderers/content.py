"""What a summary says, before anyone lays it out: verdicts, facts and tables as plain text, escaped by nobody yet.

Text, Markdown and the page of a comparison are made from the same records; each escapes what it writes.
"""

from __future__ import annotations

from typing import Literal, Protocol

from kprof.evidence import Record

Tone = Literal["good", "bad", "doubt", "plain"]


class Verdict(Record, frozen=True, kw_only=True):
    """One answer: a word that can be seen from afar, and what stands behind it."""

    label: str
    text: str
    tone: Tone
    more: tuple[str, ...] = ()
    """Sentences below it."""
    log: tuple[str, ...] = ()
    """Lines of output to be shown as they are."""


class Table(Record, frozen=True, kw_only=True):
    """Rows of cells. The first column holds names, and gives way where the page is narrow."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = (0,)
    """Columns of words, set to the left; numbers stand to the right."""
    names: tuple[int, ...] = ()
    """Columns of names that come from outside, for formats that set those as code."""
    spare: tuple[int, ...] = ()
    """Columns that a narrow page leaves out."""


class Section(Record, frozen=True, kw_only=True):
    """One heading and what stands below it."""

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    """A label, and what there is to say of it."""
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    mark: str = ""
    """What each note begins with on a terminal."""


class Explained(Protocol):
    """A record that gives the reason for each of its nulls, as blocks do."""

    @property
    def reasons(self) -> dict[str, str]: ...


def absent(block: Explained, path: str) -> str:
    """The code for a null of a block."""
    return block.reasons.get(path, "null")


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 launch``, ``2 launches``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
