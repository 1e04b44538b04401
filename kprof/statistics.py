"""Statistics of timing samples: pure functions of numbers, nothing about kernels in them.

numpy is imported where it is used: it takes a tenth of a second, and a report is read and written again without it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import NormalDist
from typing import Final, NamedTuple

MIN_FOR_INTERVAL: Final = 6
"""Fewest samples a side for an interval of 95 %.

The range of ``n`` samples holds the true median with probability ``1 - 2 * 0.5**n`` (order statistics, no
assumption about the distribution): 0.9375 for 5 samples, 0.969 for 6.
"""
RESAMPLES: Final = 2000
_SEED: Final = 20260101


class Summary(NamedTuple):
    """Summary of one side's samples, in the samples' own unit."""

    median: float
    mean: float
    std: float | None
    """Sample standard deviation (n - 1 in the denominator); None for a single sample."""
    minimum: float
    p95: float


def summarise(samples: Sequence[float]) -> Summary | None:
    """Median, mean, spread and tail of ``samples``; None when there are none, NaN throughout when one is not finite."""
    if not samples:
        return None
    if not all(map(math.isfinite, samples)):
        return Summary(math.nan, math.nan, math.nan, math.nan, math.nan)
    import numpy as np

    values = np.asarray(samples, dtype=np.float64)
    # Of numbers that no clock gives, what overflows is infinite, and null in a report: nothing to warn of here.
    with np.errstate(all="ignore"):
        return Summary(
            median=float(np.median(values)),
            mean=float(np.mean(values)),
            std=float(np.std(values, ddof=1)) if len(values) > 1 else None,
            minimum=float(np.min(values)),
            p95=float(np.percentile(values, 95)),
        )


def median(samples: Sequence[float]) -> float | None:
    """The median; None when there are no samples."""
    summary = summarise(samples)
    return None if summary is None else summary.median


def spread_pct(samples: Sequence[float]) -> float | None:
    """``(max - min) / median`` in percent; None below two samples or when the median is not above 0."""
    middle = median(samples)
    if middle is None or len(samples) < 2 or not middle > 0:
        return None
    return (max(samples) - min(samples)) / middle * 100.0


def thin(samples: Sequence[float], limit: int) -> tuple[float, ...]:
    """At most ``limit`` samples at even steps, first and last kept, the order kept."""
    if limit < 2:
        raise ValueError(f"limit is {limit}; at least 2 samples are kept")
    if len(samples) <= limit:
        return tuple(samples)
    step = (len(samples) - 1) / (limit - 1)
    return tuple(samples[round(index * step)] for index in range(limit))


def union_length(intervals: Iterable[tuple[float, float]]) -> float:
    """Length of the union of intervals (start, end), in their unit: what overlaps counts once."""
    total, reached = 0.0, -math.inf
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def bootstrap_ratio_of_medians(
    numerator: Sequence[float], denominator: Sequence[float], *, paired: bool, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """95 % interval of ``median(numerator) / median(denominator)``.

    Percentile bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13), with a fixed seed
    so that the same samples always give the same interval. It treats samples as independent of the ones before them:
    drift slower than the run and differences between processes are not in it.

    Args:
        numerator: samples of one side.
        denominator: samples of the other, all above 0.
        paired: draw the same positions from both sides. For samples taken interleaved: what two neighbours share
            (the clock of that moment) then cancels in the ratio. Needs equal counts.
        resamples: how many times to draw.

    Returns:
        Low and high end; None below `MIN_FOR_INTERVAL` samples a side or where a sample is not finite.

    Raises:
        ValueError: paired, and the counts differ.
    """
    if paired and len(numerator) != len(denominator):
        raise ValueError(f"paired samples: {len(numerator)} against {len(denominator)}; equal counts are needed")
    if min(len(numerator), len(denominator)) < MIN_FOR_INTERVAL:
        return None
    if not all(map(math.isfinite, (*numerator, *denominator))):
        return None
    import numpy as np

    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    generator = np.random.default_rng(_SEED)
    top_index = generator.integers(0, len(top), size=(resamples, len(top)))
    bottom_index = top_index if paired else generator.integers(0, len(bottom), size=(resamples, len(bottom)))
    with np.errstate(all="ignore"):
        ratios = np.median(top[top_index], axis=1) / np.median(bottom[bottom_index], axis=1)
        low, high = np.percentile(ratios, [2.5, 97.5])
    return float(low), float(high)


class RatioOfMedians(NamedTuple):
    """``median(numerator) / median(denominator)`` and how well it is known."""

    ratio: float
    log_error: float
    """Standard error of the ratio's logarithm: about the relative error of the ratio."""

    def interval(self, confidence: float) -> tuple[float, float]:
        """Low and high end, symmetric about the ratio on a logarithmic scale."""
        reach = NormalDist().inv_cdf((1.0 + confidence) / 2.0) * self.log_error
        return self.ratio * math.exp(-reach), self.ratio * math.exp(reach)


def ratio_of_medians(
    numerator: Sequence[float],
    denominator: Sequence[float],
    *,
    between: tuple[float, float] = (0.0, 0.0),
    steps: tuple[float, float] = (0.0, 0.0),
) -> RatioOfMedians | None:
    """The ratio of two medians of independent samples, and its error, without a draw of random numbers.

    Price and Bonett, Distribution-free confidence intervals for difference and ratio of medians, Journal of
    Statistical Computation and Simulation 72 (2002) 119-124, section 3: the logarithms of the medians are
    subtracted and the variances of both are added.

    Args:
        numerator: samples of one run, any unit, all above 0.
        denominator: samples of another, in that unit, all above 0.
        between: what one run differs from the next of its kind, a side: the standard deviation of the logarithm of
            its median, which no sample of a single run shows.
        steps: of the timers, a side, in the samples' unit; see `log_median_variance`.

    Returns:
        None below `MIN_FOR_INTERVAL` samples a side, or where a sample is not finite or not above 0.
    """
    top, bottom = median(numerator), median(denominator)
    variances = log_median_variance(numerator, steps[0]), log_median_variance(denominator, steps[1])
    if top is None or bottom is None or variances[0] is None or variances[1] is None:
        return None
    log_error = math.sqrt(variances[0] + variances[1] + between[0] ** 2 + between[1] ** 2)
    return RatioOfMedians(top / bottom, log_error)


def log_median_variance(samples: Sequence[float], step: float = 0.0) -> float | None:
    """Variance of the logarithm of the median of ``samples``; see `log_quantile`."""
    found = log_quantile(samples, 0.5, step)
    return None if found is None else found.variance


class LogQuantile(NamedTuple):
    """The logarithm of a quantile, and its variance."""

    value: float
    variance: float


def log_quantile(samples: Sequence[float], share: float, step: float = 0.0) -> LogQuantile | None:
    """A quantile on a logarithmic scale and how well it is known, from two order statistics round it.

    Price and Bonett (2002), as in `ratio_of_medians`, who do it for the median: two order statistics about two binomial
    standard deviations to either side enclose the quantile with a probability that follows from the binomial
    distribution alone; half their distance over that probability's normal quantile is the standard error. No assumption
    about the shape of the distribution; samples are taken as independent.

    Args:
        samples: of one run, all above 0.
        share: of the samples that lie below: 0.5 is the median.
        step: of the timer that took them. Samples of one step are then spread evenly over it, as quantiles of grouped
            data are found: from whole steps alone the distance would be 0, 1 or 2 steps by chance.

    Returns:
        None below `MIN_FOR_INTERVAL` samples, or where one is not finite or not above 0.
    """
    count = len(samples)
    if count < MIN_FOR_INTERVAL or not all(math.isfinite(one) and one > 0 for one in samples):
        return None
    ordered = _spread_over_steps(samples, step)
    low, high, normal = _order_statistics(count, share)
    place = share * (count - 1)
    before, after = ordered[math.floor(place)], ordered[math.ceil(place)]
    value = math.log(before + (place - math.floor(place)) * (after - before))
    return LogQuantile(value, (math.log(ordered[high - 1] / ordered[low - 1]) / (2.0 * normal)) ** 2)


def _spread_over_steps(samples: Sequence[float], step: float) -> list[float]:
    """The samples in order, those that one step rounds together laid evenly over it."""
    ordered = sorted(samples)
    if step <= 0 or not math.isfinite(ordered[-1] / step):
        return ordered
    laid: list[float] = []
    for _, run in itertools.groupby(ordered, lambda one: round(one / step)):
        group = list(run)
        middle = sum(group) / len(group)
        laid += [max(middle + step * ((i + 0.5) / len(group) - 0.5), middle / 2.0) for i in range(len(group))]
    return sorted(laid)


@cache
def _order_statistics(count: int, share: float) -> tuple[int, int, float]:
    """Ranks (from 1) on both sides of a quantile, and the normal quantile that the interval between them stands for."""
    reach = 2.0 * math.sqrt(count * share * (1.0 - share))
    low = max(1, round(count * share + 0.5 - reach))
    high = count + 1 - max(1, round(count * (1.0 - share) + 0.5 - reach))
    covered = sum(_binomial(count, share, below) for below in range(low, high))
    return low, high, NormalDist().inv_cdf((1.0 + covered) / 2.0)


def _binomial(count: int, share: float, below: int) -> float:
    """Probability that exactly ``below`` of ``count`` samples lie below the quantile."""
    ways = math.lgamma(count + 1) - math.lgamma(below + 1) - math.lgamma(count - below + 1)
    return math.exp(ways + below * math.log(share) + (count - below) * math.log1p(-share))


def spread_between_runs(groups: Iterable[Sequence[float]], prior: float, *, prior_runs: int) -> float:
    """Standard deviation of the logarithm of a run's median, from the medians of runs and what was known before.

    The sample variance is drawn towards the prior's by degrees of freedom (Smyth, Linear models and empirical Bayes
    methods for assessing differential expression, Statistical Applications in Genetics and Molecular Biology 3
    (2004), article 3, section 4), since two or three runs alone say little of their own spread.

    Args:
        groups: medians of runs of the same thing, one group a thing, any unit, all above 0.
        prior: the standard deviation expected.
        prior_runs: how many runs that expectation counts for.
    """
    freedom, total = prior_runs - 1, (prior_runs - 1) * prior**2
    for group in groups:
        logs = [math.log(one) for one in group]
        if len(logs) > 1:
            centre = sum(logs) / len(logs)
            freedom += len(logs) - 1
            total += sum((one - centre) ** 2 for one in logs)
    return math.sqrt(total / freedom)
