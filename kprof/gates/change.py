"""From one value to another: by how much, how sure that is, and how small a change these numbers could have shown."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

import msgspec

from kprof.evidence import Record
from kprof.gates.fields import Better
from kprof.gates.noise import Noise

CONFIDENCE: Final = 0.99
"""Of the interval: without any tolerance one in 200 equal pairs would count as a regression."""
POWER: Final = 0.8
"""A regression of ``mde_pct`` is found in this share of runs."""
_ROUNDING: Final = 1e-9
"""Relative: what arithmetic makes of two numbers that are equal as written."""


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
        reach = self._reach
        if reach is None or not self.base or self.value / self.base <= 0:
            return None
        ratio = self.value / self.base
        return 100.0 * (ratio * math.exp(-reach) - 1.0), 100.0 * (ratio * math.exp(reach) - 1.0)

    @property
    def mde_pct(self) -> float | None:
        """The least regression that is found with `POWER`: beyond noise and timer step, and by enough to be found."""
        reach, error = self._reach, self.noise.log_error
        if reach is None or error is None:
            return None
        margin = NormalDist().inv_cdf(POWER) * error
        return 100.0 * math.expm1(max(reach, math.log1p(self.noise.step)) + margin)

    def is_worse(self) -> bool:
        """By more than the noise and the timer's step; of a number without known noise, at all."""
        if self.worse_by <= self._slack:
            return False
        worse, reach = self.log_worse, self._reach
        if worse is None:
            return True
        return (reach is None or worse > reach) and math.expm1(worse) > self.noise.step * (1.0 + 1e-6)

    def is_better(self) -> bool:
        """As `is_worse`, the other way."""
        return msgspec.structs.replace(self, value=self.base, base=self.value).is_worse()

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

    @property
    def _reach(self) -> float | None:
        """How far the logarithm of the ratio of two equal runs strays; None: not known."""
        error = self.noise.log_error
        return None if error is None else NormalDist().inv_cdf((1.0 + CONFIDENCE) / 2.0) * error
