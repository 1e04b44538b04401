"""The checks of times: what was kept from call to call, and work done only where it is looked at."""

from __future__ import annotations

import captures
import made_evidence
import pytest
from integrity_blocks import WRONG, block, call, calls, check, evidence

from kprof.evidence import Cache, Series, Timer, TimingEvidence


@pytest.mark.parametrize(
    ("usual", "new", "passed"),
    [
        ((50.0,) * 4, (50.0,) * 4, True),
        ((50.0,) * 5, (74.9,) * 5, True),  # 1.5 times: not quite
        ((50.0,) * 5, (75.0,) * 5, False),
        ((50.0,) * 4, (75.0,) * 4, True),  # too few for that
        ((50.0,) * 4, (150.0,) * 4, False),
        ((50.0, 50.0, 50.0, 160.0), (155.0,) * 4, True),  # nor do few count that are not all slower
        ((1.0,) * 4, (2.9,) * 4, True),  # under 2 us of gap
        ((50.0,) * 4 + (900.0,), (100.0,) * 5, False),  # one slow call hides nothing
        ((50.0,) * 5, (50.0, 50.0, 50.0, 500.0, 500.0), True),  # and two make no gap
        ((50.0,) * 2, (100.0,) * 2, True),  # too few for twice the time
        ((50.0,) * 2, (150.0,) * 2, False),
    ],
)
def test_a_gap_between_values_seen_and_never_seen_is_a_cached_result(
    usual: tuple[float, ...], new: tuple[float, ...], passed: bool
) -> None:
    made = check("cached_result", evidence(calls=calls(repeated=usual, refilled=new, swapped=())))
    assert made.passed is passed


def test_of_many_calls_the_fastest_new_one_tells_on_a_busy_machine() -> None:
    usual = (50.0, 60.0, 55.0, 50.0, 9000.0, 8000.0, 7000.0)
    new = (1500.0, 1600.0, 30_000.0, 1500.0, 1500.0, 20_000.0, 1700.0, 1500.0)
    assert check("cached_result", evidence(calls=calls(repeated=usual, refilled=new, swapped=()))).passed is False


def test_a_call_that_took_new_values_for_known_ones_did_not_work_on_them() -> None:
    """As recorded on an H200 of a kernel that keeps its last result and looks at every 64th row of the input."""
    fooled = tuple(call("swapped", 293.0, mismatches=WRONG) for _ in range(3))
    rest = calls(repeated=(293.0,) * 11, refilled=(3030.0,) * 4, swapped=(3030.0,) * 2)
    found = evidence(calls=rest + fooled)
    assert block(found).never_seen_us == 3030.0
    assert check("cached_result", found).passed is False
    assert check("wrong_on_swapped", found).passed is False


def test_where_every_new_result_is_wrong_their_times_are_told_still() -> None:
    new = tuple(call(values, 50.0, mismatches=WRONG) for values in ("refilled", "swapped") for _ in range(4))
    made = block(evidence(calls=calls(refilled=(), swapped=()) + new))
    assert made.never_seen_us == 50.0
    assert {one.name: one.passed for one in made.checks or ()}["cached_result"] is True


def with_series(
    us: float,
    timer: Timer = "host",
    cache: Cache = "warm",
    preemptions: int | None = None,
    queue_kept_full: bool | None = None,
) -> TimingEvidence:
    series = Series(
        timer=timer,
        cache=cache,
        kernel_us=(us,) * 9,
        ref_us=(us,) * 9,
        kernel_count=9,
        ref_count=9,
        preemptions=preemptions,
        queue_kept_full=queue_kept_full,
    )
    return TimingEvidence(series=(series,))


@pytest.mark.parametrize(("new", "waiting", "full"), [(74.0, True, True), (76.0, True, False), (101.0, False, False)])
def test_a_call_that_waits_for_the_device_may_take_longer_for_new_values(new: float, waiting: bool, full: bool) -> None:
    found = evidence(calls=calls(repeated=(50.0,) * 8, refilled=(new,) * 8, swapped=()))
    for kept, passed in ((False, waiting), (True, full)):
        assert check("cached_result", found, timing=with_series(50.0, queue_kept_full=kept)).passed is passed


@pytest.mark.parametrize(
    ("usual", "new", "passed"),
    [
        ((50.0,) * 2, (200.0,) * 3, None),  # chance can do that
        ((50.0,) * 5, (200.0,) * 5, False),
        ((50.0,) * 4 + (900.0,), (200.0,) * 5, None),
        ((50.0,) * 4 + (900.0,), (200.0,) * 8, False),
        ((50.0,) * 2, (60.0,) * 2, True),  # no gap
    ],
)
def test_where_other_work_took_the_processors_few_calls_tell_nothing(
    usual: tuple[float, ...], new: tuple[float, ...], passed: bool | None
) -> None:
    found = evidence(calls=calls(repeated=usual, refilled=new, swapped=()))
    busy, quiet = with_series(50.0, preemptions=2), with_series(50.0, preemptions=1)
    made = check("cached_result", found, timing=busy)
    assert (made.passed, made.reason) == (passed, "host_contended" if passed is None else None)
    assert check("cached_result", found, timing=quiet).passed is (passed or False)


def test_few_new_calls_no_slower_than_the_other_timed_calls_are_no_gap() -> None:
    found = evidence(calls=calls(repeated=(50.0,) * 2, refilled=(200.0,) * 3, swapped=()))
    assert check("cached_result", found, timing=with_series(66.0)).passed is False
    assert check("cached_result", found, timing=with_series(70.0)).passed is True


@pytest.mark.parametrize(("looked", "passed"), [(4, None), (7, None), (8, False)])
def test_few_slow_looks_on_a_busy_machine_are_not_told_apart(looked: int, passed: bool | None) -> None:
    found = evidence(calls=calls(repeated=(1200.0,) * looked))
    assert check("told_apart", found, timing=with_series(50.0, preemptions=2)).passed is passed
    assert check("told_apart", found, timing=with_series(50.0, preemptions=1)).passed is False


@pytest.mark.parametrize(
    ("elsewhere", "passed"), [(50.0, True), (20.0, True), (400.0, False), (401.0, True), (1150.0, True)]
)
def test_work_done_only_when_it_is_looked_at_is_told_apart(elsewhere: float, passed: bool) -> None:
    us = (60.0, 61.0, 62.0, 60.0) if elsewhere < 100 else (1200.0, 1300.0, 1200.0, 5000.0)
    made = check("told_apart", evidence(calls=calls(repeated=us)), timing=with_series(elsewhere))
    assert made.passed is passed


def test_series_of_its_own_are_held_against_looked_at_calls_where_timing_was_not_asked_for() -> None:
    alone = captures.cpu_run().timing
    assert alone is not None
    found = check("told_apart", evidence(), timing=None)
    assert (found.passed, found.reason) == (None, "no_other_calls")
    own = evidence(series=(made_evidence.series("host", "warm", 50.0, 60.0),))
    assert check("told_apart", own, timing=None).passed is True
    quick = evidence(calls=calls(repeated=(900.0,) * 4), series=own.series)
    assert check("told_apart", quick, timing=None).passed is False
