"""What the block timing warns of: clocks, power, streams, inputs, resolution, timers that disagree."""

from __future__ import annotations

from typing import Any

import captures
import made_evidence
import msgspec
import pytest
from captures import h200_large, h200_tiny, tiny_timing
from made_evidence import CLOCK, clock_group, series

from kprof.blocks.timing.block import TimingBlock, timing_block
from kprof.blocks.timing.cautions import resolution_limited
from kprof.capture import Capture
from kprof.evidence import Reason, TensorInfo
from kprof.launches_evidence import LaunchesEvidence


def with_timing(capture: Capture, **changes: Any) -> Capture:
    assert capture.timing is not None
    return msgspec.structs.replace(capture, timing=msgspec.structs.replace(capture.timing, **changes))


def codes(block: TimingBlock) -> list[str]:
    return [warning.code for warning in block.warnings]


def test_timers_that_disagree_warm_are_a_warning() -> None:
    timing = tiny_timing()
    others = tuple(one for one in timing.series if one.timer != "graph")
    block = timing_block(with_timing(h200_tiny(), series=(*others, series("graph", "warm", 2.5, 14.2))))
    assert block.status == "ok"
    assert codes(block) == ["timers_disagree"]
    assert block.warnings[0].message.startswith("kernel, warm: graph reads 2.5 us, cupti 1.18 us")


def test_power_cap_is_told_with_clock_power_and_cycles() -> None:
    capped = msgspec.structs.replace(CLOCK, sm_mhz=1755, power_w=694.0, throttle_reasons=("sw_power_cap",))
    groups = (clock_group("event", "cold", capped), clock_group("host", "warm", CLOCK))
    block = timing_block(with_timing(h200_large(), clock_groups=groups))
    assert (block.power_capped, block.power_w, block.power_limit_w) == (True, 694.0, 700.0)
    assert block.throttle_reasons == ("sw_power_cap",)
    # The headline is of cold events, so their clock counts and not that of the others.
    assert block.sm_clock_mhz == 1755
    assert block.kernel_us is not None
    assert block.kernel_cycles == pytest.approx(block.kernel_us * 1755)
    assert codes(block) == ["power_capped"]
    assert "highest reading 694 W, limit 700 W, SM clock 1755 MHz" in block.warnings[0].message


@pytest.mark.parametrize(
    ("reasons", "capped"),
    [((), False), (("hw_power_brake_slowdown",), True), (("sw_thermal_slowdown",), False), (None, None)],
)
def test_power_capped_follows_the_drivers_reasons(reasons: tuple[str, ...] | None, capped: bool | None) -> None:
    reading = msgspec.structs.replace(CLOCK, throttle_reasons=reasons)
    block = timing_block(with_timing(h200_large(), clock_groups=(clock_group("event", "cold", reading),)))
    assert block.power_capped is capped
    assert block.reasons.get("power_capped") == (None if capped is not None else "no_clock_readings")


def test_samples_dropped_by_clock_are_counted_and_their_groups_do_not_count() -> None:
    slow = msgspec.structs.replace(CLOCK, sm_mhz=900)
    event = series("event", "cold", 235.6, 921.28, dropped_by_clock=40)
    groups = (clock_group("event", "cold"), clock_group("event", "cold", slow, dropped=True))
    block = timing_block(with_timing(h200_large(), series=(event,), clock_groups=groups))
    assert block.clock_dropped == 40
    assert block.sm_clock_mhz == 1980
    assert block.device.cold is not None
    assert block.device.cold.dropped_by_clock == 40


def test_no_clock_readings_say_why() -> None:
    why = Reason(code="nvml_unavailable", message="NVML does not answer")
    environment = msgspec.structs.replace(made_evidence.H200, clocks_before=None, clocks_after=None, clocks_reason=why)
    block = timing_block(with_timing(h200_tiny(environment=environment), clock_groups=()))
    assert block.power_capped is None
    for path in ("power_capped", "sm_clock_mhz", "kernel_cycles", "ref_cycles", "throttle_reasons"):
        assert block.reasons[path] == "nvml_unavailable", path


def test_a_kernel_off_the_current_stream_is_warned_about() -> None:
    timing = tiny_timing()
    refused = Reason(code="off_current_stream", message="the captured graph is empty")
    graph = series("graph", "warm", None, 14.2)
    others = tuple(one for one in timing.series if one.timer != "graph")
    block = timing_block(
        with_timing(
            h200_tiny(),
            series=(*others, graph),
            kernel_off_current_stream=True,
            absent={**timing.absent, "graph.kernel": refused},
        )
    )
    assert block.kernel_off_current_stream is True
    assert codes(block) == ["kernel_off_current_stream"]
    assert "a CUDA graph captures nothing" in block.warnings[0].message
    assert block.reasons["graph.warm.kernel_median_us"] == "off_current_stream"
    assert block.device.warm is not None
    assert (block.device.warm.kernel_estimator, block.device.warm.ref_estimator) == ("cupti", "cupti")


def test_constant_inputs_are_warned_about_by_name() -> None:
    zeros = TensorInfo(path="[1]['mask']", shape=(4,), dtype="bool", constant=True)
    inputs = (*made_evidence.workload().inputs, zeros)
    block = timing_block(h200_tiny(workload=made_evidence.workload(inputs=inputs)))
    assert codes(block) == ["constant_inputs"]
    assert "[1]['mask']" in block.warnings[0].message


def test_host_time_inside_is_warned_about_and_suspect_when_nothing_else_serves() -> None:
    late = series("event", "cold", 235.6, 921.28, queue_kept_full=False)
    only_events = LaunchesEvidence(kernel=h200_large().launches.kernel)  # type: ignore[union-attr]
    block = timing_block(msgspec.structs.replace(with_timing(h200_large(), series=(late,)), launches=only_events))
    assert block.status == "suspect"
    assert block.reason is not None
    assert block.reason.code == "host_time_inside"
    assert codes(block) == ["host_time_inside"]
    assert "event cold" in block.warnings[0].message


def test_the_collectors_own_warnings_come_first() -> None:
    own = Reason(code="short_budget", message="only 12 samples")
    assert codes(timing_block(with_timing(h200_tiny(), warnings=(own,)))) == ["short_budget"]


def test_resolution_limited_below_ten_steps() -> None:
    assert resolution_limited([(0.31, 0.032)]) is True
    assert resolution_limited([(0.32, 0.032)]) is False
    assert resolution_limited([(0.32, 0.032), (0.1, 0.032)]) is True
    assert resolution_limited([(None, 0.032), (1.0, None)]) is None
    tiny = msgspec.structs.replace(captures.tiny_launches(), series=(series("cupti", "cold", 0.3, 17.6),))
    block = timing_block(h200_tiny(launches=tiny))
    assert block.resolution_limited is True
    assert "resolution_limited" in codes(block)
