"""The block timing: the headline, the views, the warnings, and why what is missing is missing."""

from __future__ import annotations

from typing import Any

import captures
import made_evidence
import msgspec
import pytest
from captures import cpu_run, h200_large, h200_tiny
from made_evidence import EVENT_BIAS_US, series

from kprof.blocks.timing.block import TimingBlock, timing_block
from kprof.capture import Capture
from kprof.evidence import Fault, Reason, Repeat, TimingEvidence


def with_timing(capture: Capture, **changes: Any) -> Capture:
    assert capture.timing is not None
    return msgspec.structs.replace(capture, timing=msgspec.structs.replace(capture.timing, **changes))


def codes(block: TimingBlock) -> list[str]:
    return [warning.code for warning in block.warnings]


def test_headline_of_a_tiny_kernel_is_its_cold_span() -> None:
    block = timing_block(h200_tiny())
    assert (block.status, block.reason, block.warnings) == ("ok", None, ())
    assert (block.kernel_us, block.ref_us) == (1.6, 17.6)
    assert (block.headline_view, block.headline_cache) == ("device", "cold")
    assert block.method == "CUPTI span over all streams"
    assert block.speedup == 17.6 / 1.6
    assert block.speedup_ci95 is not None
    assert block.speedup_ci95[0] <= block.speedup <= block.speedup_ci95[1]
    assert block.resolution_limited is False


def test_five_numbers_for_one_kernel_each_under_its_own_name() -> None:
    block = timing_block(h200_tiny())
    medians = {
        f"{view}.{cache}": times.kernel_median_us
        for view in ("device", "event", "host", "host_stream", "graph")
        for cache in ("cold", "warm")
        if (times := getattr(getattr(block, view), cache)) is not None
    }
    assert medians == {
        "device.cold": 1.6,
        "device.warm": 1.24,
        "event.cold": 5.0,
        "event.warm": 3.39,
        "host.cold": 30.0,
        "host.warm": 28.0,
        "host_stream.warm": 12.0,
        "graph.warm": 1.24,
    }
    assert block.reasons["graph.cold"] == "warm_only"
    assert block.reasons["host_stream.cold"] == "warm_only"
    assert block.device.warm is not None
    assert block.device.warm.kernel_estimator == "graph"
    assert block.device.warm.kernel_cross_check is not None
    assert block.device.warm.kernel_cross_check.timer == "cupti"
    assert block.reasons["device.cold.kernel_cross_check"] == "too_short_for_events"


def test_headline_of_a_large_kernel_is_calibrated_events() -> None:
    block = timing_block(h200_large())
    assert block.status == "ok"
    assert block.kernel_us == pytest.approx(235.6 - EVENT_BIAS_US)
    assert block.ref_us == pytest.approx(920.0)
    assert block.method == "calibrated events behind a pre-filled queue"
    assert block.device.cold is not None
    assert block.device.cold.kernel_cross_check is not None
    assert block.device.cold.kernel_cross_check.agrees
    assert block.event.cold is not None
    assert block.event.cold.kernel_median_us == 235.6


def test_view_statistics() -> None:
    block = timing_block(h200_tiny())
    times = block.host.warm
    assert times is not None
    samples = made_evidence.spread(28.0)
    assert times.kernel_count == 101
    assert times.kernel_mean_us == pytest.approx(28.0)
    assert times.kernel_min_us == min(samples) == pytest.approx(27.72)
    # Evenly spread from -1 % to +1 %: the 95th percentile is at +0.9 %.
    assert times.kernel_p95_us == pytest.approx(28.0 * 1.009)
    # Standard deviation of 101 even steps of 1/50: sqrt((101^2 - 1) / 12 * 101 / 100) / 50.
    assert times.kernel_std_us == pytest.approx(28.0 * 0.01 * 0.586, rel=1e-2)
    assert times.speedup == 130.0 / 28.0


def test_on_the_cpu_the_headline_is_host_time_warm() -> None:
    block = timing_block(cpu_run())
    assert (block.status, block.kernel_us, block.ref_us, block.speedup) == ("ok", 20.0, 90.0, 4.5)
    assert (block.headline_view, block.headline_cache) == ("host", "warm")
    assert block.reasons["device.cold"] == block.reasons["graph.warm"] == block.reasons["graph.cold"] == "no_device"
    assert block.reasons["host.cold"] == "not_measured"
    for field in ("clock_dropped", "sm_clock_mhz", "power_capped", "kernel_cycles", "flush_bytes"):
        assert getattr(block, field) is None
        assert block.reasons[field] == "no_device"


def test_sides_of_unlike_size_name_their_own_estimators() -> None:
    spans = (series("cupti", "cold", 1.6, 100.0),)
    events = (series("event", "cold", 5.0, 101.28),)
    launches = msgspec.structs.replace(captures.tiny_launches(), series=spans)
    block = timing_block(h200_tiny(timing=TimingEvidence(series=events), launches=launches))
    assert block.device.cold is not None
    assert (block.device.cold.kernel_estimator, block.device.cold.ref_estimator) == ("cupti", "event")
    assert block.method == (
        "kernel: CUPTI span over all streams; reference: calibrated events behind a pre-filled queue"
    )
    assert block.speedup == pytest.approx(100.0 / 1.6)


def test_without_a_reference_only_what_is_relative_to_it_is_null() -> None:
    block = timing_block(captures.without_ref(h200_tiny()))
    assert (block.status, block.kernel_us) == ("ok", 1.6)
    for path in ("ref_us", "speedup", "speedup_ci95", "ref_cycles", "device.cold.ref_median_us", "event.warm.speedup"):
        assert block.reasons[path] == "no_reference", path
    assert set(block.reasons.values()) == {"no_reference", "warm_only", "too_short_for_events"}


def test_timers_that_disagree_make_the_headline_suspect_with_both_values() -> None:
    launches = msgspec.structs.replace(h200_large().launches, series=(series("cupti", "cold", 300.0, 940.0),))
    block = timing_block(msgspec.structs.replace(h200_large(), launches=launches))
    assert block.status == "suspect"
    assert block.reason is not None
    assert block.reason.code == "timers_disagree"
    assert "event reads 234.3 us" in block.reason.message
    assert "cupti 300 us" in block.reason.message
    assert block.kernel_us == pytest.approx(234.32)


def test_a_short_kernel_with_nothing_but_events_is_suspect() -> None:
    block = timing_block(h200_tiny(launches=None))
    assert block.status == "suspect"
    assert block.reason is not None
    assert block.reason.code == "too_short_for_events"
    assert block.kernel_us == pytest.approx(5.0 - EVENT_BIAS_US)
    assert block.reasons["device.cold.kernel_cross_check"] == "single_estimator"


def test_a_hang_keeps_what_was_measured() -> None:
    block = timing_block(captures.timing_hang())
    assert block.status == "suspect"
    assert block.reason is not None
    assert block.reason.code == "timeout"
    assert block.kernel_us == pytest.approx(3.72)
    assert "too_short_for_events" in codes(block)
    for path in ("device.warm", "event.warm", "host.cold", "host.warm", "host_stream.warm", "graph.warm"):
        assert block.reasons[path] == "timeout", path


def test_a_hang_before_the_headline_is_a_failure_that_keeps_the_rest() -> None:
    fault = Fault(stage="timing", side="kernel", code="timeout", message="no answer for 60 s")
    partial = TimingEvidence(series=(series("event", "warm", 3.39, 16.2),))
    block = timing_block(h200_tiny(faults=(fault,), timing=partial, launches=None))
    assert block.status == "failed"
    assert (block.kernel_us, block.speedup) == (None, None)
    assert block.reasons["kernel_us"] == block.reasons["speedup"] == "timeout"
    assert block.device.warm is not None
    assert block.device.warm.kernel_median_us == pytest.approx(3.39 - EVENT_BIAS_US)


def test_no_headline_without_a_fault_is_said_too() -> None:
    block = timing_block(h200_tiny(timing=TimingEvidence(series=(series("host", "warm", 28.0, 130.0),)), launches=None))
    assert block.status == "failed"
    assert block.reason is not None
    assert block.reason.code == "no_headline"
    assert block.host.warm is not None


def test_a_fault_with_no_samples_at_all() -> None:
    fault = Fault(stage="timing", side="ref", code="raised", message="RuntimeError: no")
    block = timing_block(h200_tiny(faults=(fault,), timing=None, launches=None))
    assert block.status == "failed"
    assert block.reason == Reason(code="raised", message="reference: RuntimeError: no")
    assert set(block.reasons.values()) == {"raised"}
    assert block.reasons["device.cold"] == "raised"


def test_no_ratio_with_a_time_that_is_not_above_zero() -> None:
    zero = msgspec.structs.replace(series("cupti", "cold", 1.6, 17.6), kernel_us=(0.0,) * 11)
    block = timing_block(h200_tiny(launches=msgspec.structs.replace(captures.tiny_launches(), series=(zero,))))
    assert (block.kernel_us, block.speedup, block.speedup_ci95) == (0.0, None, None)
    assert block.reasons["speedup"] == block.reasons["speedup_ci95"] == "not_above_zero"
    assert block.resolution_limited is True


def test_few_samples_have_no_interval_and_one_no_deviation() -> None:
    one = msgspec.structs.replace(series("host", "warm", 20.0, 90.0), kernel_us=(20.0,), ref_us=(90.0,))
    block = timing_block(with_timing(cpu_run(), series=(one,)))
    assert block.speedup == 4.5
    assert block.reasons["speedup_ci95"] == "too_few_samples"
    assert block.reasons["host.warm.kernel_std_us"] == block.reasons["host.warm.ref_std_us"] == "too_few_samples"


def test_samples_full_for_the_headline_and_thinned_for_the_others() -> None:
    def long(timer: Any, cache: Any, kernel: float, ref: float, **changes: Any) -> Any:
        samples = {"kernel_us": made_evidence.spread(kernel, 901), "ref_us": made_evidence.spread(ref, 901)}
        return series(timer, cache, kernel, ref, **samples, kernel_count=5000, ref_count=4999, **changes)

    timed = (long("event", "cold", 235.6, 921.28), long("host", "warm", 260.0, 990.0))
    block = timing_block(with_timing(h200_large(), series=timed))
    device, event, host = (block.samples_us[view] for view in ("device", "event", "host"))
    assert (device.cache, event.cache, host.cache) == ("cold", "cold", "warm")
    assert device.kernel is not None
    assert event.kernel is not None
    assert host.kernel is not None
    assert (len(device.kernel), len(event.kernel), len(host.kernel)) == (901, 200, 200)
    assert (device.kernel_count, host.kernel_count, host.ref_count) == (5000, 5000, 4999)
    assert device.kernel[0] == pytest.approx(made_evidence.spread(235.6, 901)[0] - EVENT_BIAS_US)
    assert "graph" not in block.samples_us


def test_repeats_and_their_spread() -> None:
    taken = tuple(Repeat(timer="event", cache="cold", kernel_us=100.0 + step, ref_us=None) for step in (0, 1, 2))
    lone = Repeat(timer="host", cache="warm", kernel_us=28.0, ref_us=130.0)
    block = timing_block(with_timing(h200_tiny(), repeats=(*taken, lone)))
    event, host = block.repeats
    assert (event.timer, event.cache, event.kernel_us) == ("event", "cold", (100.0, 101.0, 102.0))
    assert event.kernel_spread_pct == pytest.approx(2 / 101 * 100)
    assert event.ref_us == ()
    assert host.kernel_spread_pct is None
    assert (
        block.reasons["repeats[0].ref_spread_pct"] == block.reasons["repeats[1].kernel_spread_pct"] == "too_few_repeats"
    )


def test_not_requested() -> None:
    block = timing_block(h200_tiny(requested=("build",)))
    assert (block.status, block.kernel_us) == ("skipped", None)
    assert block.reasons["kernel_us"] == block.reasons["device.warm"] == "not_requested"


@pytest.mark.parametrize("us", [0.0, -1.0, 1e-300])
def test_a_time_that_no_clock_can_give_is_suspect(us: float) -> None:
    capture = with_timing(cpu_run(), series=(series("host", "warm", 1.0, 1.0, kernel_us=(us,) * 9, ref_us=(us,) * 9),))
    block = timing_block(capture)
    assert (block.status, block.kernel_us) == ("suspect", us)
    assert block.reason is not None
    assert block.reason.code == "impossible_time"
