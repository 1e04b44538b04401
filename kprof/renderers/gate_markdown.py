"""Verdicts in Markdown: for a pull request's comment, or the summary of a workflow's step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kprof.renderers.gate_table import HEADERS, WORDS, cells, counted
from kprof.renderers.markup import inline
from kprof.verdicts import Verdict

_LONGEST: Final = 2000
"""Characters of a reason with its hint: what to do stands at its end."""


def render(verdicts: Sequence[Verdict], title: str) -> str:
    """A heading, a table of all verdicts, and why those that are no plain pass are none; one trailing newline."""
    lines = [f"### {inline(title)}: {counted(verdicts)}", ""]
    lines += [f"| {' | '.join(HEADERS)} |", "|---|---|--:|--:|--:|--:|"]
    lines += [f"| {' | '.join(_row(one))} |" for one in verdicts]
    told = [line for one in verdicts for line in _why(one)]
    return "\n".join([*lines, *(["", *told] if told else [])]) + "\n"


def _row(verdict: Verdict) -> list[str]:
    word, *rest = (inline(cell) for cell in cells(verdict))
    return [word if verdict.verdict == "pass" else f"**{word}**", *rest]


def _why(verdict: Verdict) -> list[str]:
    lines = []
    if verdict.verdict != "pass":
        hint = f". {verdict.hint}" if verdict.hint else ""
        told = f"{verdict.metric}: {verdict.message} ({verdict.code}){hint}"
        lines.append(f"- **{WORDS[verdict.verdict]}** {inline(told, _LONGEST)}")
    lines += [f"- {inline(f'{verdict.metric}: {one.code}: {one.message}', _LONGEST)}" for one in verdict.warnings]
    return lines
