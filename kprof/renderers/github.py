"""Verdicts as annotations of GitHub Actions: ``::error file=kernel.py,title=...::message``, one a line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from kprof.verdicts import Verdict, VerdictWord

_LEVELS: Final[dict[VerdictWord, str]] = {"fail": "error", "inconclusive": "warning", "not_gated": "notice"}
_TITLES: Final[dict[VerdictWord, str]] = {
    "fail": "kprof: gate failed",
    "inconclusive": "kprof: gate inconclusive",
    "not_gated": "kprof: not gated",
}
_IN_MESSAGES: Final = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_IN_PROPERTIES: Final = (*_IN_MESSAGES, (":", "%3A"), (",", "%2C"))


def render(verdicts: Sequence[Verdict], kernel_file: str | None, *, inconclusive_ok: bool = False) -> str:
    """A line a verdict that is no pass; empty where all pass.

    Args:
        verdicts: what to tell.
        kernel_file: the file to annotate; a path outside the checkout annotates none.
        inconclusive_ok: inconclusive gates are worth a notice only.
    """
    place = {"file": kernel_file} if kernel_file and not PurePath(kernel_file).is_absolute() else {}
    lines = []
    for one in verdicts:
        if one.verdict == "pass":
            continue
        level = "notice" if one.verdict == "inconclusive" and inconclusive_ok else _LEVELS[one.verdict]
        properties = {**place, "title": f"{_TITLES[one.verdict]}: {one.expression}"}
        told = ",".join(f"{name}={_escape(value, _IN_PROPERTIES)}" for name, value in properties.items())
        message = _escape(f"{one.message} ({one.code})", _IN_MESSAGES)
        lines.append(f"::{level} {told}::{message}\n")
    return "".join(lines)


def _escape(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    for char, code in pairs:  # the percent sign first: the codes hold one
        text = text.replace(char, code)
    return text
