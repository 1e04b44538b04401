"""Numbers with units as people write them: ``12 us``, ``0.9``, ``3%``, ``1.5GB/s``, in the unit of the field."""

from __future__ import annotations

import math
import re
from typing import Final

from kprof.errors import UsageError
from kprof.gates.fields import Field

_QUANTITY: Final = re.compile(r"(?P<number>[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*(?P<unit>\S*)")
_FAMILIES: Final[tuple[dict[str, float], ...]] = (
    {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6},
    {"bytes": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9},
    {"MB/s": 1e-3, "GB/s": 1.0, "TB/s": 1e3},
    {"GFLOP/s": 1e-3, "TFLOP/s": 1.0, "PFLOP/s": 1e3},
    {"MHz": 1.0, "GHz": 1e3},
    {"ratio": 1.0, "x": 1.0},
    {"%": 1.0, "pct": 1.0},
)
"""Units of the same quantity, and how much of the family's own unit one of each is. Prefixes are decimal."""
_SAME: Final = {"µs": "us", "μs": "us"}


def number_and_unit(text: str) -> tuple[float, str] | None:
    """``"12 us"`` as 12.0 and ``us``; None: it does not begin with a number, or that is not finite."""
    matched = _QUANTITY.fullmatch(text.strip())
    if matched is None or not math.isfinite(number := float(matched["number"])):
        return None
    return number, _SAME.get(matched["unit"], matched["unit"])


def in_unit_of(field: Field, number: float, unit: str) -> float:
    """``number`` of ``unit`` in the field's own unit; no unit is the field's own.

    Raises:
        UsageError: a unit of another quantity, or none there is.
    """
    if unit in ("", field.unit):
        return number
    family = next((one for one in _FAMILIES if field.unit in one), {})
    if unit not in family:
        known = ", ".join(family) or (field.unit if field.shown_unit else "none, it is a plain number")
        raise UsageError(f"found the unit {unit!r}; expected: {known}", "Correct the unit, or leave it out.")
    return number * family[unit] / family[field.unit]
