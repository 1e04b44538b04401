"""Numbers in the messages of verdicts."""

from __future__ import annotations

from kprof.figures import duration
from kprof.verdicts import Scalar


def shown(value: Scalar | None, unit: str | None) -> str:
    """``11.42 us``, ``191.9 ms``, ``true``, ``memory``: four significant digits, more where it is a whole number."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    if unit == "us":
        return duration(value)
    number = f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return number if unit is None or unit == "ratio" else f"{number} {unit}"


def percent(share: float) -> str:
    """A relative change with its sign: ``+3.1 %``."""
    return f"{100.0 * share:+.3g} %"
