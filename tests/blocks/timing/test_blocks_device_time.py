"""Which estimator of device time is chosen, and when two of them disagree."""

from __future__ import annotations

from typing import Any

import captures
import made_evidence
import msgspec
import pytest
from made_evidence import EVENT_BIAS_US, NAIVE, kernel_launch, series

from kprof.blocks.timing.device_time import candidates, choose, choose_pair, cross_check, second_opinion, why_no_second
from kprof.capture import Capture
from kprof.evidence import Cache, Series, Side, Timer, TimingEvidence
from kprof.launches_evidence import LaunchesEvidence, SideLaunches


def run(
    *timed: Series, spans: tuple[Series, ...] = (), off_stream: bool = False, pieces: int = 1, blocks: int = 2
) -> Capture:
    """A run with these series; each side launches ``pieces`` kernels of ``blocks`` blocks."""
    side = SideLaunches(launches=(kernel_launch(NAIVE, 0.0, 1.0, grid=(blocks, 1, 1)),) * pieces)
    return captures.h200_tiny(
        timing=TimingEvidence(series=timed, kernel_off_current_stream=off_stream),
        launches=LaunchesEvidence(kernel=side, ref=side, series=spans),
    )


def chosen(capture: Capture, cache: Cache = "cold", side: Side = "kernel") -> Timer | None:
    estimate = choose(candidates(capture, cache, side))
    return estimate.timer if estimate else None


def test_what_an_empty_pair_reads_is_taken_off_events_alone() -> None:
    found = candidates(captures.h200_tiny(), "warm", "kernel")
    assert found["event"].median_us == pytest.approx(3.39 - EVENT_BIAS_US)
    assert found["event"].samples[0] == pytest.approx(made_evidence.spread(3.39)[0] - EVENT_BIAS_US)
    assert found["graph"].median_us == 1.24
    assert found["cupti"].median_us == 1.18
    assert set(found) == {"event", "graph", "cupti"}


@pytest.mark.parametrize(
    ("cache", "size", "timers", "expected"),
    [
        ("cold", 1.6, ("event", "cupti"), "cupti"),
        ("cold", 49.9, ("event", "cupti"), "cupti"),
        ("cold", 50.0, ("event", "cupti"), "event"),
        ("warm", 19.9, ("event", "cupti"), "cupti"),
        ("warm", 20.0, ("event", "cupti"), "event"),
        ("cold", 240.0, ("event", "cupti"), "event"),
        ("cold", 240.0, ("cupti",), "cupti"),
        ("cold", 1.6, ("event",), "event"),
        ("warm", 1.2, ("event", "cupti", "graph"), "graph"),
        ("warm", 1.2, ("event", "cupti"), "cupti"),
        ("warm", 230.0, ("event", "cupti", "graph"), "event"),
        ("warm", 230.0, ("cupti", "graph"), "graph"),
    ],
)
def test_the_least_biased_estimator_for_the_size(
    cache: Cache, size: float, timers: tuple[Timer, ...], expected: str
) -> None:
    readings: dict[Timer, float] = {"event": size + 1.8, "cupti": size, "graph": size}
    capture = run(*(series(timer, cache, readings[timer], None) for timer in timers))
    assert chosen(capture, cache) == expected


def test_nothing_measured_nothing_chosen() -> None:
    assert chosen(run(series("host", "warm", 28.0, 130.0))) is None
    assert chosen(run(series("event", "warm", 28.0, 130.0)), "cold") is None


def test_sides_of_like_size_share_an_estimator_and_others_do_not() -> None:
    def pair(kernel: float, ref: float) -> tuple[Timer, Timer]:
        capture = run(series("event", "cold", kernel + 1.5, ref + 1.5), spans=(series("cupti", "cold", kernel, ref),))
        one, two = choose_pair(candidates(capture, "cold", "kernel"), candidates(capture, "cold", "ref"))
        assert one is not None
        assert two is not None
        return one.timer, two.timer

    assert pair(45.0, 55.0) == ("cupti", "cupti")
    assert pair(55.0, 45.0) == ("cupti", "cupti")
    assert pair(1.6, 100.0) == ("cupti", "event")
    assert pair(60.0, 80.0) == ("event", "event")


def test_host_time_inside_events_rules_them_out() -> None:
    late = series("event", "cold", 240.0, None, queue_kept_full=False)
    assert chosen(run(late, spans=(series("cupti", "cold", 231.0, None),))) == "cupti"
    assert chosen(run(late)) == "event"


def test_a_span_with_gaps_gives_way_to_events_that_read_less() -> None:
    late = series("cupti", "cold", 18.0, None, queue_kept_full=False)
    events = series("event", "cold", 12.0 + EVENT_BIAS_US, None)
    assert chosen(run(events, spans=(late,), pieces=9)) == "event"
    # One launch has no gap inside, however late it came.
    assert chosen(run(events, spans=(late,), pieces=1)) == "cupti"


def off_stream_run(event_us: float) -> Capture:
    return run(series("event", "cold", event_us, None), spans=(series("cupti", "cold", 245.2, None),), off_stream=True)


def test_events_that_miss_the_work_of_another_stream_are_not_used() -> None:
    blind = off_stream_run(1.9)
    assert chosen(blind) == "cupti"
    assert not candidates(blind, "cold", "kernel")["event"].trusted


def test_events_serve_off_the_current_stream_where_they_see_the_work() -> None:
    """As for the legacy default stream, which torch's own waits for."""
    assert chosen(off_stream_run(235.6)) == "event"


def check(chosen_timer: Timer, cache: Cache, readings: dict[str, float], blocks: int | None, launches: int = 1) -> Any:
    capture = run(*(series(timer, cache, value, None) for timer, value in readings.items()))  # type: ignore[arg-type]
    found = candidates(capture, cache, "kernel")
    other = second_opinion(found[chosen_timer], found)
    return None if other is None else cross_check(found[chosen_timer], other, blocks, launches)


def test_cupti_is_forgiven_five_percent_for_very_many_blocks_only() -> None:
    readings = {"event": 234.3 + EVENT_BIAS_US, "cupti": 245.2}
    many = check("event", "cold", readings, 131_072)
    assert (many.timer, many.agrees, many.unexplained_us) == ("cupti", True, 0.0)
    assert many.difference_us == pytest.approx(10.9)
    few = check("event", "cold", readings, 2_000)
    assert not few.agrees
    assert few.unexplained_us == pytest.approx(10.9)


def test_events_under_50_us_are_forgiven_what_is_left_of_their_bias() -> None:
    readings = {"event": 12.0 + EVENT_BIAS_US, "cupti": 11.0}
    warm = check("cupti", "warm", readings, 100)
    # Events say that the truth is at most 0.9 below their 12.0: 0.1 us from CUPTI's 11.0.
    assert warm.unexplained_us == pytest.approx(0.1)
    assert warm.agrees
    # Cold they read more, the more launches there are: the nine kernels of torch.logsumexp 26.4 where CUPTI says 23.4.
    cold = {"event": 26.4 + EVENT_BIAS_US, "cupti": 23.4}
    assert check("cupti", "cold", cold, 100, launches=9).unexplained_us == 0.0
    assert check("cupti", "cold", cold, 100, launches=1).unexplained_us == pytest.approx(1.7)


def test_cupti_may_keep_several_launches_apart() -> None:
    """As recorded on an H200: the reference's nine kernels, cold, in one process of 77."""
    readings = {"event": 25.15 + EVENT_BIAS_US, "cupti": 25.79}
    assert check("cupti", "cold", readings, 100, launches=9).unexplained_us == 0.0
    alone = check("cupti", "cold", readings, 100, launches=1)
    assert (alone.agrees, alone.unexplained_us) == (False, pytest.approx(0.84))


@pytest.mark.parametrize(("cupti", "agrees"), [(15.48, True), (15.52, False)])
def test_both_limits_must_be_passed_to_disagree(cupti: float, agrees: bool) -> None:
    """Against a graph at 15 us: 3 % is 0.45 us, so the limit is 0.5 us."""
    assert check("graph", "warm", {"graph": 15.0, "cupti": cupti}, 100).agrees is agrees


def test_three_percent_of_a_long_time_is_the_limit() -> None:
    assert check("event", "warm", {"event": 100.0 + EVENT_BIAS_US, "graph": 102.9}, 100).agrees
    assert not check("event", "warm", {"event": 100.0 + EVENT_BIAS_US, "graph": 103.35}, 100).agrees


def test_events_under_10_us_are_no_cross_check() -> None:
    capture = captures.h200_tiny()
    found = candidates(capture, "cold", "kernel")
    assert second_opinion(found["cupti"], found) is None
    assert why_no_second(found["cupti"], found) == "too_short_for_events"
    assert why_no_second(found["cupti"], {"cupti": found["cupti"]}) == "single_estimator"


def test_the_graph_is_the_cross_check_of_warm_times() -> None:
    told = check("event", "warm", {"event": 235.6, "cupti": 245.2, "graph": 231.2}, 131_072)
    assert (told.timer, told.median_us, told.agrees) == ("graph", 231.2, True)


def test_a_bias_is_taken_off_per_call() -> None:
    ten_calls = series("event", "warm", 50.0, None, calls_per_sample=10, bias_us=1.0)
    assert candidates(run(ten_calls), "warm", "kernel")["event"].median_us == pytest.approx(49.9)


def test_events_of_unknown_bias_say_so() -> None:
    raw = msgspec.structs.replace(series("event", "cold", 50.0, None), bias_us=None)
    estimate = candidates(run(raw), "cold", "kernel")["event"]
    assert not estimate.calibrated
    assert estimate.median_us == 50.0
    assert estimate.method.endswith("not calibrated")
