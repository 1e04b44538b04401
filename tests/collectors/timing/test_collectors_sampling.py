"""The sampling loop: interleaving, stopping, groups by clock. Time is simulated; values are what `take` gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import repeat

import numpy as np
import pytest

from kprof.collectors.timing import sampling
from kprof.collectors.timing.sampling import SamplingPolicy, relative_half_width, take_samples, thin
from kprof.evidence import ClockReading, Side


class FakeTime:
    """A clock that moves by what each sample costs."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept = 0.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    monkeypatch.setattr(sampling, "perf_counter", fake.perf_counter)
    monkeypatch.setattr(sampling, "sleep", fake.sleep)
    return fake


def taking(
    clock: FakeTime, order: list[Side], values: Iterator[float], cost_s: float = 1e-3
) -> Callable[[Side], float]:
    def take(side: Side) -> float:
        order.append(side)
        clock.now += cost_s
        return next(values)

    return take


def noise() -> list[float]:
    return [float(value) for value in np.random.default_rng(0).lognormal(size=10_000)]


def test_sides_alternate_a_b_b_a(clock: FakeTime) -> None:
    order: list[Side] = []
    take_samples(taking(clock, order, repeat(1.0)), ("kernel", "ref"), SamplingPolicy(), timer="host", cache="warm")
    assert order[:8] == ["kernel", "ref", "ref", "kernel"] * 2


def test_steady_values_end_at_the_minimum(clock: FakeTime) -> None:
    policy = SamplingPolicy(min_samples=30, group_s=0.004)
    sampled = take_samples(taking(clock, [], repeat(5.0)), ("kernel", "ref"), policy, timer="host", cache="warm")
    assert 30 <= len(sampled.samples["kernel"]) <= 34
    assert len(sampled.samples["kernel"]) == len(sampled.samples["ref"])


def test_noisy_values_use_the_budget_and_no_more(clock: FakeTime) -> None:
    noisy = iter(noise())
    policy = SamplingPolicy(budget_s=0.5)
    take_samples(taking(clock, [], noisy), ("kernel", "ref"), policy, timer="host", cache="warm")
    assert 0.5 <= clock.now <= 0.5 + policy.group_s + 0.01


def test_slow_calls_stop_at_four_budgets_short_of_the_minimum(clock: FakeTime) -> None:
    policy = SamplingPolicy(budget_s=1.0, min_samples=30)
    take = taking(clock, [], repeat(1e6), cost_s=1.0)
    sampled = take_samples(take, ("kernel",), policy, timer="host", cache="warm")
    assert 4 <= len(sampled.samples["kernel"]) <= 6


def test_the_duty_cycle_is_kept(clock: FakeTime) -> None:
    policy = SamplingPolicy(duty=0.25, max_samples=100)
    busy_us = 1000.0
    take = taking(clock, [], repeat(busy_us), cost_s=busy_us / 1e6)
    sampled = take_samples(take, ("kernel",), policy, timer="event", cache="cold", busy_us=lambda us: us)
    busy_s = len(sampled.samples["kernel"]) * busy_us / 1e6
    assert busy_s / clock.now == pytest.approx(0.25, rel=0.01)


def readings(*clocks: int | None) -> Callable[[], ClockReading | None]:
    values = iter(clocks)
    return lambda: ClockReading(sm_mhz=next(values))


def test_groups_whose_clock_strays_are_dropped_by_clock_not_by_value(clock: FakeTime) -> None:
    # Three groups of 20 samples; the clock falls between the first and the second and is back at the fourth reading.
    policy = SamplingPolicy(min_samples=60, max_samples=60, group_s=0.02)
    values = iter([1.0] * 20 + [99.0] * 20 + [1.0] * 20)
    sampled = take_samples(
        taking(clock, [], values),
        ("kernel",),
        policy,
        timer="event",
        cache="cold",
        read_clock=readings(1980, 1980, 1980, 1700),
    )
    assert [group.dropped for group in sampled.groups] == [False, False, True]
    assert sampled.dropped == 20
    assert sampled.samples["kernel"] == (1.0,) * 20 + (99.0,) * 20


def test_when_most_groups_stray_none_is_dropped(clock: FakeTime) -> None:
    policy = SamplingPolicy(min_samples=60, max_samples=60, group_s=0.02)
    sampled = take_samples(
        taking(clock, [], repeat(1.0)),
        ("kernel",),
        policy,
        timer="event",
        cache="cold",
        read_clock=readings(1980, 1700, 1800, 1900),
    )
    assert sampled.dropped == 0


def test_a_board_that_tells_no_clock_drops_nothing(clock: FakeTime) -> None:
    policy = SamplingPolicy(min_samples=40, max_samples=40)
    take = taking(clock, [], repeat(1.0))
    sampled = take_samples(take, ("kernel",), policy, timer="event", cache="cold", read_clock=readings(*[None] * 20))
    assert (sampled.dropped, len(sampled.samples["kernel"])) == (0, 40)


def test_the_medians_interval_from_order_statistics() -> None:
    # 100 values: ranks 50 -+ 9.8 -> 40 and 60 of 0..99.
    values = [100.0 + i for i in range(100)]
    assert relative_half_width(values) == pytest.approx((160 - 140) / 2 / 150)
    assert relative_half_width([0.0, 0.0]) == math.inf


def test_series_are_thinned_evenly_and_counted_truly(clock: FakeTime) -> None:
    values = iter(noise())
    policy = SamplingPolicy(max_samples=2500, budget_s=100, target=0.0)
    sampled = take_samples(taking(clock, [], values), ("kernel",), policy, timer="event", cache="cold")
    series = sampled.series("event", "cold", bias_us=1.28)
    assert (len(series.kernel_us), series.bias_us) == (1000, 1.28)
    assert 2500 <= series.kernel_count < 2500 + 40  # the group that reaches the limit is finished
    assert thin(tuple(range(10)), 5) == (0, 2, 4, 6, 8)  # type: ignore[arg-type]
