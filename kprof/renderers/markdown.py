"""The summary as Markdown for a comment on a pull request: the verdict as a table, the rest folded away below it.

A comment holds some 65,000 characters; a report may have any number of launches. What does not fit is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeVar

from kprof.renderers.content import Section, Verdict, plural
from kprof.renderers.markup import fenced, folded, inline, item, table_head, table_row
from kprof.renderers.sections.kernels import kernels_section
from kprof.renderers.sections.summary import circumstances, sections, title
from kprof.renderers.sections.verdict import verdicts
from kprof.report import Report

T = TypeVar("T")
MOST_BYTES: Final = 64_000
"""Of UTF-8, which is never less than the characters that a forge counts."""
_OF_A_SECTION: Final = 4_000
_OF_THE_VERDICT: Final = 15_000
_MOST_LOGS: Final = 3
_FRAME: Final = 400
"""Room for the title and the frame of a section, and for saying what was left out."""


def render(report: Report) -> str:
    """The summary as Markdown, one trailing newline, under `MOST_BYTES`."""
    shown = verdicts(report)
    head = [f"### {inline(title(report))}", "<br>".join(inline(line) for line in circumstances(report))]
    head += [verdict_table(shown), *_logs(shown)]
    all_kernels = kernels_section(report, most=len(report.kernels))
    others = sections(report)
    bodies = {id(one): section(one, _OF_A_SECTION) for one in others}
    parts = [*head, *bodies.values()]
    if all_kernels is not None:
        few = next(one for one in others if one.title == all_kernels.title)
        room = MOST_BYTES - sum(_size(part) for part in parts) + _size(bodies[id(few)])
        bodies[id(few)] = section(all_kernels, room)
    return "\n\n".join((*head, *bodies.values())) + "\n"


def verdict_table(shown: Iterable[Verdict]) -> str:
    """One row a verdict."""
    rows, over = _fitting(list(shown), _verdict_row, _OF_THE_VERDICT)
    more = [f"| | and {over:,} more in the report |"] if over else []
    return "\n".join(("| verdict | |", "| --- | --- |", *rows, *more))


def _verdict_row(one: Verdict) -> str:
    return f"| **{inline(one.label)}** | {'<br>'.join(map(inline, (one.text, *one.more)))} |"


def _logs(shown: Iterable[Verdict]) -> list[str]:
    """The output of what failed first."""
    logged = [one for one in shown if one.log][:_MOST_LOGS]
    return [folded(f"output: {one.text}", fenced(one.log)) for one in logged]


def section(one: Section, most_bytes: int) -> str:
    """A section folded under its title, in at most so many bytes: rows and notes that do not fit are counted."""
    left = most_bytes - _FRAME
    parts: list[str] = []
    if one.facts:
        parts.append(_facts(one.facts, left))
        left -= _size(parts[-1])
    for table in one.tables:
        head = table_head(table)
        rows, over = _fitting(table.rows, partial(table_row, table), left - sum(map(_size, head)))
        parts.append("\n".join((*head, *rows)))
        left -= _size(parts[-1])
        if over:
            parts.append(f"{plural(over, 'more row')} in the report.")
    notes, over = _fitting(one.notes, item, left)
    if over:
        notes.append(f"- and {over:,} more in the report")
    if notes:
        parts.append("\n".join(notes))
    return folded(one.title, "\n\n".join(parts))


def _facts(facts: Sequence[tuple[str, str]], room: int) -> str:
    rows, over = _fitting(facts, lambda fact: f"| {inline(fact[0])} | {inline(fact[1])} |", room)
    more = [f"| | and {over:,} more in the report |"] if over else []
    return "\n".join(("| | |", "| --- | --- |", *rows, *more))


def _fitting(things: Sequence[T], line: Callable[[T], str], room: int) -> tuple[list[str], int]:
    """The lines of the first things, as many as fit together, and how many things are left."""
    kept: list[str] = []
    for one in things:
        made = line(one)
        room -= _size(made)
        if room < 0:
            break
        kept.append(made)
    return kept, len(things) - len(kept)


def _size(text: str) -> int:
    """Bytes, and those of the lines between."""
    return len(text.encode()) + 2
