"""The block waterfall: the parts of one call add up to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kprof.blocks.waterfall import WaterfallBlock, waterfall_block
from kprof.evidence import Reason
from kprof.launches_evidence import Launch, SideLaunches
from kprof.metrics import describe


def work(start_us: float, duration_us: float, **changes: Any) -> Launch:
    plain: dict[str, Any] = {"kind": "kernel", "name": "k", "stream": 7}
    return Launch(start_us=start_us, duration_us=duration_us, **{**plain, **changes})


def block_of(*launches: Launch, host_us: float | None = 100.0, floor_us: float | None = 2.0) -> WaterfallBlock:
    return waterfall_block(SideLaunches(launches=launches, host_us=host_us), floor_us, "no_spec")


def test_two_kernels_with_a_pause_between() -> None:
    block = block_of(work(40, 5), work(50, 10))
    assert (block.host_us, block.gap_us, block.idle_us, block.excess_us, block.floor_us) == (100, 80, 5, 13, 2)
    assert block.busy_us == 15
    assert (block.status, block.reasons, block.warnings) == ("ok", {}, ())


def test_what_runs_side_by_side_counts_once() -> None:
    block = block_of(work(50, 10), work(40, 15, stream=8), work(42, 1, kind="memcpy"))
    assert (block.gap_us, block.idle_us, block.excess_us) == (80, 0, 18)


@given(
    st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 1e4)), min_size=1, max_size=20),
    st.floats(0, 1e5),
    st.floats(0, 1e4),
)
def test_the_parts_that_are_there_add_up(intervals: list[tuple[float, float]], host: float, floor: float) -> None:
    block = block_of(*(work(start, length) for start, length in intervals), host_us=host, floor_us=floor)
    parts = (block.gap_us, block.idle_us, block.excess_us, block.floor_us)
    assert all(part is None or part >= 0 for part in parts)
    assert (block.gap_us is None) is ("gap_us" in block.reasons)
    assert (block.excess_us is None) is ("excess_us" in block.reasons)
    if not block.reasons:
        assert sum(part or 0 for part in parts) == pytest.approx(host)


def test_device_work_longer_than_the_call() -> None:
    block = block_of(work(0, 120))
    assert (block.gap_us, block.excess_us) == (None, 118)
    assert block.reasons == {"gap_us": "profiler_overlap"}
    assert [warning.code for warning in block.warnings] == ["profiler_overlap"]


def test_a_floor_above_what_the_device_was_busy() -> None:
    block = block_of(work(40, 5), floor_us=9.0)
    assert (block.excess_us, block.floor_us, block.gap_us) == (None, 9.0, 95)
    assert block.reasons == {"excess_us": "floor_above_busy"}
    assert [warning.code for warning in block.warnings] == ["floor_above_busy"]


def test_without_a_floor() -> None:
    block = block_of(work(40, 5), floor_us=None)
    assert block.reasons == {"excess_us": "no_spec", "floor_us": "no_spec"}
    assert (block.status, block.gap_us) == ("ok", 95)


def test_a_call_that_launched_nothing() -> None:
    block = block_of(floor_us=None)
    assert (block.gap_us, block.idle_us) == (100, 0)
    assert [warning.code for warning in block.warnings] == ["no_device_work"]


@pytest.mark.parametrize(("code", "shown"), [("no_device", "no_cuda_device"), ("profiler_failed", "profiler_failed")])
def test_what_was_not_profiled(code: str, shown: str) -> None:
    side = SideLaunches(absent=Reason(code=code, message="nothing is launched on a device"), host_us=30.0)
    block = waterfall_block(side, None, "no_roof")
    assert block.status == "unavailable"
    assert set(block.reasons.values()) == {shown}
    assert set(block.reasons) == {"host_us", "gap_us", "idle_us", "busy_us", "excess_us", "floor_us"}


def test_a_call_whose_host_time_is_not_known() -> None:
    assert set(block_of(work(0, 1), host_us=None).reasons.values()) == {"not_collected"}


def test_every_field_has_its_unit() -> None:
    assert {one.unit for path, one in describe(WaterfallBlock).items() if path.endswith("_us")} == {"us"}
