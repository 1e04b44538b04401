"""Verdicts in Markdown: for a pull request's comment, or the summary of a workflow's step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kprof.renderers.gate_table import HEADERS, WORDS, cells, counted
from kprof.verdicts import Verdict

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>|~])")


def render(verdicts: Sequence[Verdict], title: str) -> str:
    """A heading, a table of all verdicts, and why those that are no plain pass are none; one trailing newline."""
    lines = [f"### {escape(title)}: {counted(verdicts)}", ""]
    lines += [f"| {' | '.join(HEADERS)} |", "|---|---|--:|--:|--:|--:|"]
    lines += [f"| {' | '.join(_row(one))} |" for one in verdicts]
    told = [line for one in verdicts for line in _why(one)]
    return "\n".join([*lines, *(["", *told] if told else [])]) + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _row(verdict: Verdict) -> list[str]:
    word, *rest = (escape(cell) for cell in cells(verdict))
    return [word if verdict.verdict == "pass" else f"**{word}**", *rest]


def _why(verdict: Verdict) -> list[str]:
    lines = []
    if verdict.verdict != "pass":
        hint = f". {verdict.hint}" if verdict.hint else ""
        told = f"{verdict.metric}: {verdict.message} ({verdict.code}){hint}"
        lines.append(f"- **{WORDS[verdict.verdict]}** {escape(told)}")
    lines += [f"- {escape(f'{verdict.metric}: {one.code}: {one.message}')}" for one in verdict.warnings]
    return lines
