"""Runs recorded on an H200, read again: analysis says of them what it said there. tests/data/h200/README.md has their
provenance."""

from __future__ import annotations

import gzip
import statistics
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from kprof.capture import decode_capture, encode_capture, load_capture
from kprof.collectors.launches.trace import TraceEvents, read_trace
from kprof.collectors.launches.window_evidence import Recording, evidence_from_trace
from kprof.collectors.launches.windows import find_windows
from kprof.renderers.json import render as render_json
from kprof.report import Report, build_report, exit_code, report_schema

DATA = Path(__file__).parent / "data" / "h200"
CAPTURES = sorted(path.name for path in DATA.glob("*4x*.json"))
COUNTED = (
    "cuda_naive_4x10x32.json", "cuda_naive_4x8192x4096.json", "cuda_tuned_4x8192x4096.json",
    "triton_fused_4x8192x4096.json", "matmul_bf16.json",
)  # fmt: skip
EVENT_BIAS_US = (1.2, 1.4)  # an empty pair reads 1.28 us there, give or take a step of 32 ns


def report(name: str) -> Report:
    return build_report(load_capture(DATA / name), source="replayed")


def device(name: str, cache: str) -> Any:
    return getattr(report(name).blocks.timing.device, cache)


def test_there_are_recorded_runs() -> None:
    assert len(CAPTURES) == 6


@pytest.mark.parametrize("name", CAPTURES)
def test_every_recorded_run_is_right_and_complete(name: str) -> None:
    made = report(name)
    assert exit_code(made) == 0
    blocks = made.blocks
    assert blocks.precision.passed is True
    assert (blocks.timing.status, blocks.memory.status, blocks.launches.status) == ("ok", "ok", "ok")
    assert (blocks.launches.kernel_launches, blocks.launches.ref_launches, blocks.launches.fusion_ratio) == (1, 9, 9.0)
    assert blocks.launches.kernel_host_launches == 1
    assert blocks.timing.kernel_off_current_stream is False
    assert (blocks.timing.sm_clock_mhz, blocks.timing.power_capped) == (1980, False)
    assert blocks.timing.speedup == blocks.timing.ref_us / blocks.timing.kernel_us  # type: ignore[operator]
    assert made.environment.spec == "h200-sxm-141gb"
    assert (made.counters is not None) == (name in COUNTED)
    if name not in COUNTED:
        assert blocks.stalls.reason is not None
        assert blocks.stalls.reason.code == "counters_not_collected"
    jsonschema.validate(msgspec.json.decode(render_json(made)), report_schema())


@pytest.mark.parametrize("name", CAPTURES)
def test_a_capture_comes_back_as_it_was(name: str) -> None:
    capture = load_capture(DATA / name)
    assert decode_capture(encode_capture(capture), name) == capture
    # Nothing of the file is lost on the way; what later versions added to the records is null in it.
    assert contains(msgspec.json.decode(encode_capture(capture)), msgspec.json.decode((DATA / name).read_bytes()))


def contains(whole: Any, part: Any) -> bool:
    """Every value of ``part`` is in ``whole`` at the same place."""
    if isinstance(part, dict):
        return all(key in whole and contains(whole[key], value) for key, value in part.items())
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(contains, whole, part))
    return bool(whole == part)


@pytest.mark.parametrize("name", CAPTURES)
def test_views_stand_in_the_order_that_physics_gives_them(name: str) -> None:
    timing = report(name).blocks.timing
    assert timing.device.warm is not None
    assert timing.event.warm is not None
    assert timing.host.warm is not None
    device_us, event_us, host_us = (
        view.kernel_median_us for view in (timing.device.warm, timing.event.warm, timing.host.warm)
    )
    assert device_us is not None
    assert event_us is not None
    assert host_us is not None
    assert device_us < event_us < host_us


@pytest.mark.parametrize("name", CAPTURES)
def test_an_empty_event_pair_was_measured_beside_the_events(name: str) -> None:
    capture = load_capture(DATA / name)
    assert capture.timing is not None
    for series in capture.timing.series:
        if series.timer == "event":
            assert series.bias_us is not None
            assert EVENT_BIAS_US[0] < series.bias_us < EVENT_BIAS_US[1]


@pytest.mark.parametrize(
    ("name", "cache", "estimator", "low_us", "high_us"),
    [
        # gpu-facts measured 1.12-1.24 us warm and 1.54-1.60 cold, behind a flush that writes; reading gives 1.41-1.47.
        ("cuda_naive_4x10x32.json", "cold", "cupti", 1.30, 1.60),
        ("cuda_naive_4x10x32.json", "warm", "graph", 1.10, 1.40),
        ("cuda_naive_4x1024x1024.json", "cold", "cupti", 8.8, 10.0),
        ("cuda_naive_4x8192x4096.json", "cold", "event", 225.0, 240.0),
        ("cuda_naive_4x8192x4096.json", "warm", "event", 220.0, 240.0),
        ("triton_fused_4x8192x4096.json", "cold", "event", 155.0, 175.0),
        ("cuda_tuned_4x8192x4096.json", "cold", "event", 145.0, 158.0),
    ],
)
def test_the_times_are_those_of_the_board(name: str, cache: str, estimator: str, low_us: float, high_us: float) -> None:
    view = device(name, cache)
    assert view.kernel_estimator == estimator
    assert low_us < view.kernel_median_us < high_us
    assert view.kernel_cross_check is None or view.kernel_cross_check.agrees


def test_cupti_slows_a_kernel_of_131072_blocks_and_is_not_believed() -> None:
    view = device("cuda_naive_4x8192x4096.json", "cold")
    assert view.kernel_cross_check.timer == "cupti"
    assert 1.02 < view.kernel_cross_check.median_us / view.kernel_median_us < 1.05


def test_nine_kernels_are_never_timed_by_their_graph() -> None:
    view = device("cuda_naive_4x10x32.json", "warm")
    assert view.ref_estimator != "graph"
    graph = report("cuda_naive_4x10x32.json").blocks.timing.graph.warm
    assert graph is not None
    assert graph.ref_median_us is not None
    assert graph.ref_median_us < 0.75 * view.ref_median_us


def test_memory_is_what_the_tensors_take() -> None:
    # One fp32 output of 8192 x 4096, rounded up to the allocator's 2 MiB.
    memory = report("cuda_naive_4x8192x4096.json").blocks.memory
    assert memory.kernel_peak_mb == pytest.approx(8192 * 4096 * 4 / 1e6, abs=2.1)


@pytest.fixture(scope="module")
def trace() -> TraceEvents:
    return read_trace(gzip.decompress((DATA / "logsumexp-trace.json.gz").read_bytes()))


PREFIX = "kprof.window.82896167:"


def test_a_recorded_trace_gives_each_call_its_own_kernels(trace: TraceEvents) -> None:
    windows = find_windows(trace, PREFIX)
    # A side: three throw-away and three plain calls, four spans in each cache state, and the tries of their spins.
    assert len(windows) >= 2 * (3 + 3 + 4 + 4)
    for window in windows:
        kernels = [row for row in window.rows if row.kind == "kernel"]
        # Neither the spin, nor the flush, nor the warm call before a window is in it.
        assert len(kernels) == (1 if "kernel:" in window.name else 9), window.name


def test_a_recorded_trace_gives_the_spans_of_the_timed_calls(trace: TraceEvents) -> None:
    evidence = evidence_from_trace(trace, Recording(PREFIX, ("kernel", "ref"), True, frozenset()))
    assert evidence.kernel is not None
    assert evidence.ref is not None
    assert (len(evidence.kernel.launches), len(evidence.ref.launches)) == (1, 9)
    assert evidence.kernel.launches[0].grid == (2, 1, 1)
    assert evidence.kernel.launches[0].block == (256, 1, 1)
    assert (evidence.kernel.host_launches, evidence.ref.host_launches) == (1, 9)
    spans = {series.cache: series for series in evidence.series}
    assert len(spans["cold"].kernel_us) == 4
    for cache, low, high in (("cold", 1.3, 1.9), ("warm", 1.05, 1.25)):
        assert low < statistics.median(spans[cache].kernel_us) < high


def test_a_board_that_no_spec_describes_is_said_to_be_unknown() -> None:
    capture = load_capture(DATA / CAPTURES[0])
    other = msgspec.structs.replace(capture.environment, device_name="NVIDIA H20")
    made = build_report(msgspec.structs.replace(capture, environment=other), source="replayed")
    assert made.environment.spec is None
    assert made.environment.spec_reason is not None
    assert made.environment.spec_reason.code == "spec_unknown"
    assert "H20" in made.environment.spec_reason.message


@pytest.mark.parametrize(
    ("name", "family", "kernel"),
    [
        ("cuda_naive_4x10x32.json", "launch", "latency/under_filled"),
        ("cuda_naive_4x8192x4096.json", "compute", "compute/issue"),
        ("triton_fused_4x8192x4096.json", "memory", "memory/dram"),
        ("cuda_tuned_4x8192x4096.json", "memory", "memory/dram"),
        ("matmul_bf16.json", "compute", "compute/tensor"),
    ],
)
def test_counters_of_recorded_runs(name: str, family: str, kernel: str) -> None:
    made = report(name)
    blocks, own = made.blocks, made.kernels[0]
    statuses = [getattr(blocks, block).status for block in ("sol", "roofline", "occupancy", "caches", "stalls")]
    over = (blocks.caches.l2_hit_pct or 0.0) > 100
    assert statuses == ["ok", "ok", "ok", "suspect" if over else "ok", "ok"]
    assert blocks.bottleneck.family == family
    assert own.bottleneck is not None
    assert f"{own.bottleneck.family}/{own.bottleneck.limiter}" == kernel
    assert all(one.roofline is not None for one in made.kernels), "each launch of both sides was profiled"
    assert made.counters is not None
    assert (made.counters.runs[0].passes or 99) <= 12
    assert made.counters.warnings == ()


def test_the_large_kernels_bytes_and_floor() -> None:
    read, written = 4 * 8192 * 4096 * 4, 8192 * 4096 * 4
    capture = load_capture(DATA / "cuda_naive_4x8192x4096.json")
    assert capture.counters is not None
    metrics = capture.counters.launches[0].metrics
    assert metrics["dram__bytes_read.sum"] == pytest.approx(read, rel=0.02)
    assert written - 62914560 <= float(metrics["dram__bytes_write.sum"]) <= written * 1.01
    sol = report("cuda_naive_4x8192x4096.json").blocks.sol
    assert (sol.floor_bytes, sol.floor_kind) == (read + written, "bytes_only")
    assert sol.floor_us == pytest.approx((read + written - 62914560) / 4800e9 * 1e6)
    assert sol.task_score == pytest.approx(0.554, abs=0.005)


def test_the_tuned_kernel_comes_near_the_floor_and_advice_stops_there() -> None:
    blocks = report("cuda_tuned_4x8192x4096.json").blocks
    assert blocks.sol.task_score == pytest.approx(0.839, abs=0.005)
    assert blocks.bottleneck.advice is not None
    # DRAM is 2.4 times as busy as the next unit, but all the task's bytes have to move.
    assert blocks.bottleneck.advice[0].at_most_x == pytest.approx(1 / 0.8387, rel=0.001)


@pytest.mark.parametrize("name", COUNTED)
def test_honest_kernels_raise_no_flag(name: str) -> None:
    integrity = report(name).blocks.integrity
    assert (integrity.status, integrity.passed) == ("ok", True)
    assert [check.name for check in integrity.checks or () if check.passed is False] == []


def test_the_tiny_kernel_has_samples_enough() -> None:
    stalls = report("cuda_naive_4x10x32.json").blocks.stalls
    assert stalls.method == "samples (550)"
    assert stalls.all is not None
    assert sum(one.share_pct or 0.0 for one in stalls.all) == pytest.approx(100)


def test_a_products_flop_come_from_its_second_run() -> None:
    made = report("matmul_bf16.json")
    assert made.counters is not None
    assert [run.purpose for run in made.counters.runs] == ["default", "tensor"]
    roofline = made.blocks.roofline
    assert roofline.tensor_flop == {"bf16": 2 * 4096**3}
    assert roofline.roof_type == "bf16"
    assert made.blocks.sol.floor_flop == 2 * 4096**3
