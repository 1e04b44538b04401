"""From one value to another: by how much, how sure that is, and how small a change these numbers could have shown."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

from kprof.evidence import Record
from kprof.gates.fields import Better
from kprof.gates.noise import Moved, Noise

CONFIDENCE: Final = 0.95
"""Of the intervals of median and lower quartile, which a regression has to leave both."""
POWER: Final = 0.8
"""A regression of ``mde_pct`` is found in this share of runs."""
_NORMAL: Final = NormalDist().inv_cdf((1.0 + CONFIDENCE) / 2.0)
_MOST_EXPONENT: Final = 709.0
_ROUNDING: Final = 1e-9
"""Relative: what arithmetic makes of two numbers that are equal as written."""


def _expm1(exponent: float) -> float:
    """``math.expm1``, and infinity where that is more than a float holds."""
    return math.expm1(exponent) if exponent < _MOST_EXPONENT else math.inf


class Change(Record, frozen=True, kw_only=True):
    """A value, the baseline's, what is tolerated and what is noise."""

    value: float
    base: float
    better: Better
    relative: float | None
    """Tolerated share; None: any."""
    absolute: float | None
    """Tolerated difference in the metric's unit; None: any. One of the two is given."""
    noise: Noise

    @property
    def worse_by(self) -> float:
        """In the metric's unit; negative: better."""
        return self._sign * (self.value - self.base)

    @property
    def log_worse(self) -> float | None:
        """The ratio's logarithm, positive for worse; None: no ratio."""
        return self._sign * math.log(self.value / self.base) if self.value > 0 and self.base > 0 else None

    @property
    def change_pct(self) -> float | None:
        """None: the baseline is 0."""
        return 100.0 * (self.value / self.base - 1.0) if self.base else None

    @property
    def limit(self) -> float:
        """The worst value within tolerance."""
        return self.base + self._sign * self._tolerated

    @property
    def tolerance_pct(self) -> float:
        """What is tolerated, of the baseline."""
        return 100.0 * self._tolerated / abs(self.base) if self.base else math.inf

    @property
    def interval_pct(self) -> tuple[float, float] | None:
        """Interval of `change_pct` at `CONFIDENCE`; None: the noise is not known."""
        moved = self.noise.median
        if moved is None or not self.base or self.value / self.base <= 0:
            return None
        middle, reach = math.log(self.value / self.base) + moved.beside_value, _NORMAL * moved.log_error
        return 100.0 * _expm1(middle - reach), 100.0 * _expm1(middle + reach)

    @property
    def mde_pct(self) -> float | None:
        """The least regression that is found with `POWER`: beyond noise and timer step, and by enough to be found."""
        if self.noise.median is None:
            return None
        error = max(one.log_error for one in (self.noise.median, self.noise.quartile) if one is not None)
        reach, margin = _NORMAL * error, NormalDist().inv_cdf(POWER) * error
        return 100.0 * _expm1(max(reach, math.log1p(self.noise.step)) + margin)

    def is_worse(self) -> bool:
        """By more than the noise and the timer's step; of a number without known noise, at all."""
        return self._median_moved(1.0) and self._quartile_moved(1.0)

    def is_better(self) -> bool:
        """As `is_worse`, the other way."""
        return self._median_moved(-1.0) and self._quartile_moved(-1.0)

    def is_worse_in_median_alone(self) -> bool:
        """The median moved and the lower quartile did not: of two speeds another one became the more frequent."""
        return self._median_moved(1.0) and not self._quartile_moved(1.0)

    def _median_moved(self, way: float) -> bool:
        if way * self.worse_by <= self._slack:
            return False
        move = self._move(way, self.noise.median)
        return move is None or (_expm1(move) > self.noise.step * (1.0 + 1e-6) and self._beyond(move, self.noise.median))

    def _quartile_moved(self, way: float) -> bool:
        """Or the median moved past an earlier quartile, which no mixture of the same speeds explains."""
        move, of_median = self._move(way, self.noise.quartile), self._move(way, self.noise.median)
        if move is None or of_median is None:
            return True
        return self._beyond(move, self.noise.quartile) or of_median > self.noise.quartile_distance

    def _move(self, way: float, quantile: Moved | None) -> float | None:
        """By how much a quantile's logarithm moved that way; None: there is no ratio."""
        worse = self.log_worse
        return None if worse is None else way * (worse + self._sign * (quantile.beside_value if quantile else 0.0))

    def _beyond(self, move: float, quantile: Moved | None) -> bool:
        """Beyond the noise; where nothing is known of it, any move is."""
        return quantile is None or move > _NORMAL * quantile.log_error

    def beyond_share(self) -> bool:
        """Worse by more than the relative tolerance; exactly at it is within."""
        return self.relative is None or self.worse_by > self.relative * abs(self.base) + self._slack

    def beyond_difference(self) -> bool:
        """Worse by more than the absolute tolerance; exactly at it is within."""
        return self.absolute is None or self.worse_by > self.absolute + self._slack

    def beyond_tolerance(self) -> bool:
        """Worse by more than both."""
        return self.beyond_share() and self.beyond_difference()

    @property
    def _sign(self) -> float:
        return 1.0 if self.better == "lower" else -1.0

    @property
    def _slack(self) -> float:
        return _ROUNDING * max(abs(self.value), abs(self.base))

    @property
    def _tolerated(self) -> float:
        return max((self.relative or 0.0) * abs(self.base), self.absolute or 0.0)
