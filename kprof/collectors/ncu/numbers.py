"""One cell of ncu's tables as a value: a number, or why there is none."""

from __future__ import annotations

import math
import re
from typing import Final

from kprof.counter_evidence import MetricAbsence

_PLAIN: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_GROUPED: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_INTEGER: Final = re.compile(r"[0-9]{1,18}")
_TRIPLE: Final = re.compile(r"\(\s*([0-9]{1,18})\s*,\s*([0-9]{1,18})\s*,\s*([0-9]{1,18})\s*\)")
_FLAG: Final = "(!)"
"""What ncu sets before a value that it marks as failed."""
_WORDS: Final[dict[str, MetricAbsence]] = {
    "": "blank",
    "n/a": "not_available",
    "no data": "not_available",
    "nan": "not_a_number",
    "inf": "infinite",
    "infinity": "infinite",
}


def parse_cell(text: str) -> float | MetricAbsence:
    """The number in a cell, or why it holds none.

    Commas count only as separators of thousands. ``1.234,56`` and ``1,23`` come from a locale with decimal commas;
    what they mean would be a guess.
    """
    text = text.strip()
    if _PLAIN.fullmatch(text):
        return number_or_absence(float(text))
    if _GROUPED.fullmatch(text):
        return number_or_absence(float(text.replace(",", "")))
    word = text.lower().removeprefix(_FLAG).strip().lstrip("+-")
    if not word and text:
        return "not_available" if text == _FLAG else "unparsable"
    return _WORDS.get(word, "unparsable")


def number_or_absence(value: float) -> float | MetricAbsence:
    """The number itself, or why it cannot be used."""
    if math.isfinite(value):
        return value
    return "not_a_number" if math.isnan(value) else "infinite"


def text_or_absence(text: str) -> tuple[str | None, MetricAbsence | None]:
    """The text of a metric that is text, or why there is none."""
    stripped = text.strip()
    absence = _WORDS.get(stripped.lower().removeprefix(_FLAG).strip())
    return (None, absence) if absence is not None else (stripped, None)


def parse_integer(text: str) -> int | None:
    """A whole number without sign or separators: an ID."""
    text = text.strip()
    return int(text) if _INTEGER.fullmatch(text) else None


def parse_triple(text: str) -> tuple[int, int, int] | None:
    """The size of a grid or block: ``(256, 1, 1)``."""
    match = _TRIPLE.fullmatch(text.strip())
    return (int(match[1]), int(match[2]), int(match[3])) if match else None
