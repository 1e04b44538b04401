"""What of a reference's values says nothing of its scale: masking values, and the far end of a heavy tail.

The absolute tolerance is a share of the reference's root mean square. One -1e9 for a masked score would own it, and
anything would pass for the scores.
"""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor

_LEAST: Final = -1074
"""Binary exponent of the smallest positive float64, and less than any that `torch.frexp` gives."""
_COUNT: Final = 1025 - _LEAST
GAP: Final = 10
"""Octaves, a factor of 1024, between a magnitude that says what the scale is and one that does not."""
_WIDTH: Final = 2
"""Octaves that values about one masking value take at most, where a score was added to it."""
_LEAST_SHARE: Final = 0.01
"""Share of the nonzero values that has to be left below a masking value: fewer are what rounding leaves of zeros."""


class Octaves:
    """How many magnitudes lie in each power of two. Counts add up over pieces."""

    def __init__(self) -> None:
        self._counts = torch.zeros(_COUNT, dtype=torch.int64)

    def add(self, magnitudes: Tensor) -> None:
        """Count finite magnitudes in float64; zeros are none."""
        exponents = torch.frexp(magnitudes[magnitudes > 0]).exponent.long()
        exponents = exponents.clamp(min=_LEAST, max=_LEAST + _COUNT - 1)
        self._counts += torch.bincount(exponents - _LEAST, minlength=_COUNT).cpu()

    def cutoff(self) -> float:
        """Magnitudes from here on are outliers; infinite: there are none.

        They are narrow groups of values far above all others (masking values), and then whatever is far above the
        median of the rest.
        """
        counts = self._counts.tolist()
        filled = [octave for octave, count in enumerate(counts) if count]
        least = _LEAST_SHARE * sum(counts)
        while (top := _masking(filled)) and sum(counts[octave] for octave in filled[:-top]) >= least:
            filled = filled[:-top]
        if not filled:
            return math.inf
        median = _median_octave(filled, counts)
        highest = max(octave for octave in filled if octave <= median + GAP)
        left_out = sum(1 for count in counts[highest + 1 :] if count)
        return math.ldexp(1.0, highest + _LEAST) if left_out else math.inf


def _masking(filled: list[int]) -> int:
    """Octaves at the top that hold a narrow group far above all others; 0: there is no such group."""
    for size in range(1, min(_WIDTH, len(filled) - 1) + 1):
        group = filled[-size:]
        if group[-1] - group[0] < _WIDTH and group[0] - filled[-size - 1] > GAP:
            return size
    return 0


def _median_octave(filled: list[int], counts: list[int]) -> int:
    half, below = sum(counts[octave] for octave in filled) / 2, 0
    for octave in filled:
        below += counts[octave]
        if below >= half:
            return octave
    return filled[-1]
