"""Statistics of samples, against values worked out by hand or by another route."""

from __future__ import annotations

import math
import random
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kprof.statistics import (
    MIN_FOR_INTERVAL,
    bootstrap_ratio_of_medians,
    log_median_variance,
    median,
    ratio_of_medians,
    spread_between_runs,
    spread_pct,
    summarise,
    thin,
    union_length,
)


def test_summary_of_four_samples() -> None:
    summary = summarise([4.0, 1.0, 3.0, 2.0])
    assert summary is not None
    assert summary.median == 2.5
    assert summary.mean == 2.5
    assert summary.minimum == 1.0
    # Deviations 1.5, 0.5, 0.5, 1.5: squares sum to 5, over n - 1 = 3.
    assert summary.std == pytest.approx(math.sqrt(5 / 3), rel=1e-12)
    # Linear between order statistics: position 0.95 * 3 = 2.85 from 3.0 to 4.0.
    assert summary.p95 == pytest.approx(3.85, rel=1e-12)


def test_summary_of_one_sample_has_no_spread_and_of_none_nothing() -> None:
    one = summarise([7.0])
    assert one is not None
    assert one.median == one.mean == one.minimum == one.p95 == 7.0
    assert one.std is None
    assert summarise([]) is None
    assert median([]) is None


def test_summary_with_a_sample_that_is_not_finite_is_nan_and_warns_of_nothing() -> None:
    for bad in (math.nan, math.inf):
        summary = summarise([1.0, bad, 2.0])
        assert summary is not None
        assert math.isnan(summary.median)
        assert summary.std is not None
        assert math.isnan(summary.std)


def test_spread() -> None:
    assert spread_pct([100.0, 102.0, 98.0]) == pytest.approx(4.0)
    assert spread_pct([100.0]) is None
    assert spread_pct([0.0, 0.0]) is None


@given(st.lists(st.floats(0, 1e6), max_size=300), st.integers(2, 50))
def test_thinning_keeps_both_ends_and_the_order(samples: list[float], limit: int) -> None:
    numbered = list(enumerate(samples))
    kept = thin([float(index) for index, _ in numbered], limit)
    assert len(kept) == min(limit, len(samples))
    assert list(kept) == sorted(set(kept))
    if samples:
        assert kept[0] == 0.0
        assert kept[-1] == float(len(samples) - 1)


def test_thinning_to_even_steps() -> None:
    assert thin([float(i) for i in range(9)], 3) == (0.0, 4.0, 8.0)
    with pytest.raises(ValueError, match="limit is 1"):
        thin([1.0, 2.0], 1)


def noisy(center: float, count: int, seed: int, width: float = 0.05) -> list[float]:
    generator = random.Random(seed)
    return [center * (1 + width * generator.gauss(0, 1)) for _ in range(count)]


def test_interval_of_equal_samples_is_one_point() -> None:
    assert bootstrap_ratio_of_medians([6.0] * 10, [2.0] * 10, paired=True) == (3.0, 3.0)


def test_interval_is_reproducible_and_holds_the_ratio() -> None:
    numerator, denominator = noisy(30.0, 80, seed=1), noisy(10.0, 80, seed=2)
    first = bootstrap_ratio_of_medians(numerator, denominator, paired=False)
    assert first == bootstrap_ratio_of_medians(numerator, denominator, paired=False)
    assert first is not None
    low, high = first
    numerator_median, denominator_median = median(numerator), median(denominator)
    assert numerator_median is not None
    assert denominator_median is not None
    assert low < numerator_median / denominator_median < high
    assert high - low < 0.2


def test_interval_covers_the_true_ratio_about_as_often_as_it_says() -> None:
    """95 % of intervals hold 3.0; 200 runs give 190 give or take 3.1, and the bootstrap of medians is a little wide."""
    held = 0
    for run in range(200):
        interval = bootstrap_ratio_of_medians(
            noisy(30.0, 25, seed=2 * run), noisy(10.0, 25, seed=2 * run + 1), paired=False, resamples=400
        )
        assert interval is not None
        held += interval[0] <= 3.0 <= interval[1]
    assert 178 <= held <= 200


def test_pairing_cancels_what_neighbours_share() -> None:
    drift = [1.0 + 0.5 * index / 60 for index in range(60)]
    numerator = [30.0 * factor for factor in drift]
    denominator = [10.0 * factor for factor in drift]
    paired = bootstrap_ratio_of_medians(numerator, denominator, paired=True)
    unpaired = bootstrap_ratio_of_medians(numerator, denominator, paired=False)
    assert paired is not None
    assert unpaired is not None
    assert paired == pytest.approx((3.0, 3.0))
    assert unpaired[1] - unpaired[0] > 0.2


def test_too_few_samples_have_no_interval() -> None:
    enough = [1.0] * MIN_FOR_INTERVAL
    assert bootstrap_ratio_of_medians(enough, enough, paired=True) == (1.0, 1.0)
    assert bootstrap_ratio_of_medians(enough[1:], enough, paired=False) is None
    # The border itself: n samples bracket the median with probability 1 - 2 * 0.5**n.
    assert 1 - 2 * 0.5**MIN_FOR_INTERVAL >= 0.95 > 1 - 2 * 0.5 ** (MIN_FOR_INTERVAL - 1)


def test_interval_refuses_what_is_not_finite_and_pairs_that_do_not_pair() -> None:
    assert bootstrap_ratio_of_medians([1.0] * 5 + [math.nan], [1.0] * 6, paired=True) is None
    with pytest.raises(ValueError, match="6 against 7"):
        bootstrap_ratio_of_medians([1.0] * 6, [1.0] * 7, paired=True)


@pytest.mark.parametrize(
    ("intervals", "length"),
    [
        ([], 0.0),
        ([(5, 5)], 0.0),
        ([(0, 10), (10, 20), (5, 15), (15, 15)], 20.0),
        ([(0, 10), (5, 15), (30, 40)], 25.0),
        ([(30, 40), (0, 100)], 100.0),
    ],
)
def test_what_overlaps_counts_once(intervals: list[tuple[float, float]], length: float) -> None:
    assert union_length(intervals) == length


def test_ratio_of_medians_by_hand() -> None:
    """Seven samples: c = round(4 - sqrt(7)) = 1, so the range; it misses the median with 2 / 2**7 = 1 / 64."""
    seven = [8.0, 1.0, 2.0, 4.0, 3.0, 6.0, 5.0]
    quantile = NormalDist().inv_cdf(1 - 1 / 128)
    variance = (math.log(8.0 / 1.0) / (2 * quantile)) ** 2
    assert log_median_variance(seven) == pytest.approx(variance)
    found = ratio_of_medians(seven, [2.0] * 7, between=(0.3, 0.4))
    assert found is not None
    assert found.ratio == 2.0
    assert found.log_error == pytest.approx(math.sqrt(variance + 0.25))
    low, high = found.interval(0.99)
    assert low * high == pytest.approx(4.0)
    assert math.log(high / 2.0) == pytest.approx(2.5758293 * found.log_error)


@pytest.mark.parametrize(("count", "runs"), [(6, 400), (25, 400), (200, 200), (1000, 100)])
def test_the_interval_without_random_draws_covers_as_often_as_it_says(count: int, runs: int) -> None:
    held = 0
    for run in range(runs):
        found = ratio_of_medians(noisy(30.0, count, seed=2 * run), noisy(10.0, count, seed=2 * run + 1))
        assert found is not None
        low, high = found.interval(0.95)
        held += low <= 3.0 <= high
    share = held / runs
    assert 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs) - 0.005 <= share


def test_it_agrees_with_the_bootstrap() -> None:
    numerator, denominator = noisy(30.0, 200, seed=1), noisy(10.0, 200, seed=2)
    found = ratio_of_medians(numerator, denominator)
    drawn = bootstrap_ratio_of_medians(numerator, denominator, paired=False)
    assert found is not None
    assert drawn is not None
    low, high = found.interval(0.95)
    assert high - low == pytest.approx(drawn[1] - drawn[0], rel=0.35)


@pytest.mark.parametrize("bad", [[1.0] * 5, [1.0] * 5 + [math.nan], [1.0] * 5 + [0.0], [1.0] * 5 + [-1.0], []])
def test_ratio_of_medians_needs_samples_above_zero(bad: list[float]) -> None:
    assert ratio_of_medians(bad, [1.0] * 9) is None
    assert ratio_of_medians([1.0] * 9, bad) is None


def test_runs_that_differ_more_than_expected_widen_the_spread_and_few_runs_do_not_decide() -> None:
    assert spread_between_runs([], 0.01, prior_runs=4) == 0.01
    assert spread_between_runs([[5.0]], 0.01, prior_runs=4) == pytest.approx(0.01)
    quiet = spread_between_runs([[5.0, 5.0]], 0.01, prior_runs=4)
    assert quiet == pytest.approx(0.01 * math.sqrt(3 / 4))
    two_states = spread_between_runs([[22.5, 25.5, 22.5, 25.5], [22.4, 25.6]], 0.002, prior_runs=4)
    assert two_states > 0.05


def test_samples_on_whole_steps_are_as_sure_of_their_median_as_those_between() -> None:
    """Rounded to a fifth of their spread, samples say hardly less."""
    fine = [log_median_variance(noisy(10.0, 200, seed=seed)) for seed in range(40)]
    rounded = [[0.1 * round(one / 0.1) for one in noisy(10.0, 200, seed=seed)] for seed in range(40)]
    stepped = [log_median_variance(one, 0.1) for one in rounded]
    typical = sum(filter(None, fine)) / 40
    assert all(one is not None and 0.2 * typical < one < 4 * typical for one in stepped)
    assert sum(filter(None, stepped)) / 40 == pytest.approx(typical, rel=0.3)
    assert log_median_variance([5.0] * 50) == 0.0
    assert log_median_variance([5.0] * 50, 0.1) == pytest.approx((0.1 * 0.07 / 5.0) ** 2, rel=0.5)


def test_numbers_that_no_clock_gives_overflow_without_a_word() -> None:
    summary = summarise([1e308, -1e308, 1e308])
    assert summary is not None
    assert (summary.median, summary.std) == (1e308, math.inf)
    bootstrap_ratio_of_medians([1e308] * 40, [1e-308] * 40, paired=False)
