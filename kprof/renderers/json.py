"""The report as JSON: strict (no NaN, no Infinity), indented, lists of numbers on one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from kprof.report import Report

_INDENT: Final = 2
_NUMBER: Final = r"(?:-?[0-9][0-9.eE+-]*|null)"
# A line break inside the brackets: strings hold none, so nothing inside one can match.
_NUMBER_LIST: Final = re.compile(rf"\[\n\s*({_NUMBER}(?:,\n\s*{_NUMBER})*)\n\s*\]")
_LINE_BREAK: Final = re.compile(r",\n\s*")


def render(report: Report) -> str:
    """The report as JSON, one trailing newline."""
    return render_json(report)


def render_json(value: Any) -> str:
    """Any record or plain value as JSON of the same form."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=_INDENT).decode("utf-8")
    joined = _NUMBER_LIST.sub(lambda match: "[" + _LINE_BREAK.sub(", ", match.group(1)) + "]", text)
    return joined + "\n"
