"""What the page draws of numbers: the bar of time, meters of units and stalls, rows of launches."""

from __future__ import annotations

import re

import captures
import made_evidence
import pytest
from report_runs import imported, recorded

from kprof.blocks.waterfall import WaterfallBlock, waterfall_block
from kprof.launches_evidence import SideLaunches
from kprof.renderers.html import render
from kprof.renderers.html.bars import stall_meters, time_parts, unit_meters
from kprof.renderers.html.launches import row_of
from kprof.report import build_report


def on_bar(block: WaterfallBlock) -> float:
    return sum(part.us or 0.0 for part in time_parts(block))


def test_the_bar_of_time_sums_to_the_call() -> None:
    for name in ("cuda_naive_4x8192x4096", "cuda_naive_4x10x32"):
        block = recorded(name).blocks.waterfall
        assert block.host_us is not None
        assert on_bar(block) == pytest.approx(block.host_us, rel=1e-12)
        page = render(recorded(name))
        bar = page.split('<div class="bar"')[1].split("</div>")[0]
        assert sum(map(float, re.findall(r"flex-grow:([0-9.e+-]+)", bar))) == pytest.approx(block.host_us, rel=1e-12)


def side(*spans: tuple[float, float], host_us: float = 100.0) -> SideLaunches:
    launches = tuple(made_evidence.kernel_launch("k", start, length) for start, length in spans)
    return SideLaunches(launches=launches, host_us=host_us)


@pytest.mark.parametrize(
    ("block", "names"),
    [
        (waterfall_block(side((40, 10)), None, "no_spec"), ["gap", "idle", "busy"]),
        (waterfall_block(side((40, 10)), 20.0), ["gap", "idle", "busy"]),
        (waterfall_block(side((40, 10)), 4.0), ["gap", "idle", "excess", "floor"]),
        (waterfall_block(side(), 4.0), ["gap", "idle", "busy"]),
    ],
)
def test_busy_time_that_cannot_be_split_is_one_part_and_the_null_parts_say_why(
    block: WaterfallBlock, names: list[str]
) -> None:
    parts = time_parts(block)
    assert [part.name for part in parts if part.us is not None] == names
    assert on_bar(block) == pytest.approx(100.0)
    assert all(part.why for part in parts if getattr(block, part.field) is None)


def test_a_gap_that_clocks_do_not_allow_says_so() -> None:
    parts = {part.name: part for part in time_parts(waterfall_block(side((0, 120)), 4.0))}
    assert (parts["gap"].us, parts["gap"].why) == (None, "profiler_overlap")


def test_meters_say_what_is_not_known_and_never_overflow() -> None:
    tiny = {one.name: one for one in unit_meters(recorded("cuda_naive_4x10x32").blocks)}
    assert tiny["L2 hits"].width == 100.0
    assert (tiny["L2 hits"].percent or 0) > 100
    copy = {one.name: one for one in unit_meters(imported(2, named=lambda index: f"k{index}").blocks)}
    assert all(one.why for one in copy.values() if one.percent is None)
    assert unit_meters(build_report(captures.cpu_run()).blocks) == ()


def test_stalls_are_shares_of_all_states_and_the_harmless_ones_are_marked() -> None:
    block = recorded("cuda_naive_4x8192x4096").blocks.stalls
    meters = stall_meters(block)
    assert 99 < sum(one.percent or 0.0 for one in meters) < 100.5
    assert {one.name for one in meters if one.calm} == {"selected (no stall)", "not_selected (no stall)"}


def test_a_row_sorts_by_its_numbers_and_says_what_it_lacks() -> None:
    rows = [row_of(one) for one in recorded("cuda_naive_4x8192x4096").kernels]
    assert rows[0].side == "kernel"
    assert (rows[0].label, rows[0].cells[0].text) == ("compute: issue", "239.9 us")
    assert float(rows[0].cells[0].key) == pytest.approx(239.936)
    assert {cell.why for row in rows for cell in row.cells if not cell.text} == {"no_flop"}
    uncounted = [row_of(one) for one in build_report(captures.h200_tiny()).kernels]
    assert {row.why_no_label for row in uncounted} == {"counters_not_collected"}
