"""The plot of the block roofline: every kernel of both sides, its share of the time, the roofs of all."""

from __future__ import annotations

from typing import Any

import captures
import msgspec
import pytest
from report_runs import imported, library, recorded

from kprof.blocks.roofline_plot import MOST_KERNELS
from kprof.report import Report, build_report


def points(report: Report) -> tuple[Any, ...]:
    found = report.blocks.roofline.points
    assert found is not None
    return found


def test_every_kernel_of_both_sides_has_a_point_at_each_level() -> None:
    found = points(recorded("cuda_naive_4x8192x4096"))
    assert [one.level for one in found] == ["dram", "l2", "l1"] * 10
    assert [one.number for one in found] == [number for number in range(1, 11) for _ in range(3)]
    assert [one.side for one in found] == ["kernel"] * 3 + ["ref"] * 27
    assert found[0].name == "logsumexp_kernel"


def test_shares_are_of_the_sides_own_time_the_longest_first() -> None:
    found = points(recorded("cuda_naive_4x8192x4096"))[::3]
    assert found[0].time_share == 1.0
    ref = [one.time_share for one in found[1:]]
    assert sum(ref) == pytest.approx(1.0)
    assert ref == sorted(ref, reverse=True)


def test_a_point_is_that_of_its_launch() -> None:
    report = recorded("cuda_naive_4x8192x4096")
    kernel = next(one for one in report.kernels if one.side == "kernel")
    assert kernel.roofline is not None
    assert kernel.roofline.points is not None
    for mine, own in zip(points(report)[:3], kernel.roofline.points, strict=True):
        assert (mine.arithmetic_intensity, mine.achieved_tflops, mine.bandwidth_gbs) == (
            own.arithmetic_intensity,
            own.achieved_tflops,
            own.bandwidth_gbs,
        )


def test_launches_of_one_kernel_in_one_configuration_are_one_point() -> None:
    once, twice = points(imported(18)), points(imported(36))
    assert len(once) == len(twice)
    assert sum(one.launches for one in twice) == 2 * sum(one.launches for one in once)
    assert [one.achieved_tflops for one in twice] == pytest.approx([one.achieved_tflops for one in once])
    assert [one.time_share for one in twice] == pytest.approx([one.time_share for one in once])


def test_of_very_many_kernels_those_with_most_time_are_kept_and_the_rest_counted() -> None:
    report = imported(MOST_KERNELS + 6, named=lambda index: f"k{index}")
    assert {one.number for one in points(report)} == set(range(1, MOST_KERNELS + 1))
    told = [one for one in report.blocks.roofline.warnings if one.code == "plot_limited"]
    assert [one.message for one in told] == ["the plot has the 64 kernels with most time of 70"]
    dropped = {f"k{i}" for i in range(MOST_KERNELS + 6)} - {one.name for one in points(report)}
    times = {one.name: one.duration_us or 0.0 for one in report.kernels}
    assert max(times[name] for name in dropped) <= min(time for name, time in times.items() if name not in dropped)


def test_every_pair_of_roofs_has_its_ridge_point() -> None:
    block = imported().blocks.roofline
    assert block.ceilings is not None
    assert block.ridges is not None
    memory = [one for one in block.ceilings if one.bandwidth_gbs is not None]
    compute = [one for one in block.ceilings if one.peak_tflops is not None]
    assert len(block.ridges) == len(memory) * len(compute) == 6
    for ridge in block.ridges:
        bandwidth = next(one.bandwidth_gbs for one in memory if one.name == ridge.bandwidth)
        peak = next(one.peak_tflops for one in compute if one.name == ridge.peak)
        assert bandwidth is not None
        assert ridge.peak_tflops == peak
        assert ridge.arithmetic_intensity * bandwidth / 1e3 == pytest.approx(peak)


def test_every_null_of_the_plot_has_its_reason() -> None:
    for report in (imported(), recorded("cuda_naive_4x8192x4096"), recorded("matmul_bf16")):
        block = report.blocks.roofline
        nulls = {
            f"{field}[{index}].{name}"
            for field in ("points", "ceilings", "ridges")
            for index, one in enumerate(getattr(block, field))
            for name in one.__struct_fields__
            if getattr(one, name) is None
        }
        assert nulls == {path for path in block.reasons if path.startswith(("points", "ceilings", "ridges"))}


def test_a_launch_without_a_time_takes_the_shares_with_it() -> None:
    capture = library()
    assert capture.counters is not None
    first, *rest = capture.counters.launches
    timeless = {name: value for name, value in first.metrics.items() if "duration" not in name}
    launches = (msgspec.structs.replace(first, metrics=timeless), *rest)
    counters = msgspec.structs.replace(capture.counters, launches=launches)
    block = build_report(msgspec.structs.replace(capture, counters=counters), source="imported").blocks.roofline
    assert block.points is not None
    assert {one.time_share for one in block.points} == {None}
    assert block.reasons["points[0].time_share"] == "launches_without_time"


def test_a_run_without_counters_has_no_plot() -> None:
    block = build_report(captures.h200_tiny()).blocks.roofline
    assert (block.points, block.ceilings, block.ridges) == (None, None, None)
    assert block.reasons["ridges"] == "counters_not_collected"
