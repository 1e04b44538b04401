"""Numbers as text, for renderers and for messages alike: significant digits, and the unit that suits the size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

GROUPED: Final = 999.5
"""Factors from here on have their digits in groups, and no exponent."""
_TIMES: Final = ((1e6, "s"), (1e3, "ms"), (1.0, "us"), (1e-3, "ns"))


def significant(value: float, digits: int) -> str:
    """``value`` to ``digits`` significant digits, without an exponent: 1.180, 235.6, 0.00123; 12345 keeps all of it."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{value:.{decimals}f}"


def scaled(value: float, steps: Sequence[tuple[float, str]], digits: int) -> str:
    """``value`` in the largest unit in which it is 1 or more once rounded, or in the smallest unit."""
    for scale, unit in steps:
        in_unit = float(f"{value / scale:.{digits - 1}e}")
        if abs(in_unit) >= 1:
            return f"{significant(value / scale, digits)} {unit}"
    scale, unit = steps[-1]
    return f"{significant(value / scale, digits)} {unit}"


def duration(us: float) -> str:
    """A time given in microseconds: ``1.180 us``, ``235.6 us``, ``32.00 ns``, ``1.390 ms``."""
    return "0 us" if us == 0 else scaled(us, _TIMES, 4)


def factor(ratio: float, digits: int = 3) -> str:
    """A ratio as a factor: ``11.2x``, ``0.0831x``, ``2,130x``."""
    if abs(ratio) >= GROUPED and math.isfinite(ratio):
        return f"{float(f'{ratio:.{digits - 1}e}'):,.0f}x"
    return f"{significant(ratio, digits)}x"
