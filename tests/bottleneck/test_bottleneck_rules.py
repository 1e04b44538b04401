"""The rules, one by one, on made quantities."""

from __future__ import annotations

from typing import Any

import pytest

from kprof.bottleneck.classify import classify
from kprof.bottleneck.verdict import Verdict
from kprof.bottleneck.workload import HostShare, KernelVerdict, workload_verdict
from kprof.counter_profile import CounterProfile, Finding
from kprof.counters.families import MAIN_STATES
from kprof.counters.quantities import Quantities
from kprof.gpuspec import resolve_gpu

BUSY = {
    "issue_pct": 20.0, "fma_pct": 5.0, "alu_pct": 5.0, "xu_pct": 1.0, "tensor_pct": 0.0, "fp64_pct": 0.0,
    "dram_busy_pct": 20.0, "l2_to_sm_pct": 10.0, "l2_from_sm_pct": 1.0, "l2_tag_pct": 1.0, "l1_data_pipe_pct": 5.0,
}  # fmt: skip
FULL_GRID = {
    "grid_size": 10_000.0, "sm_count": 132.0, "blocks_by_blocks": 32.0, "blocks_by_registers": 8.0,
    "blocks_by_smem": 8.0, "blocks_by_warps": 8.0, "theoretical_occupancy_pct": 100.0,
}  # fmt: skip


def verdict(**values: Any) -> Verdict:
    """Of a kernel that does nothing special but what is said; warp states that are not said are 0."""
    for family in ("stall_cycles", "stall_samples"):
        if family in values:
            values[family] = {**dict.fromkeys(MAIN_STATES, 0.0), **values[family]}
    return classify(CounterProfile(Quantities(**{**BUSY, **FULL_GRID, **values})))


@pytest.mark.parametrize(
    ("values", "label"),
    [
        ({"dram_busy_pct": 80.0}, "memory/dram"),
        ({"dram_busy_pct": 79.9}, "memory/dram"),
        ({"dram_busy_pct": 59.9}, "latency"),
        ({"dram_busy_pct": 62.0, "issue_pct": 52.1}, "balanced"),
        ({"dram_busy_pct": 62.0, "issue_pct": 51.9}, "memory/dram"),
        ({"l2_tag_pct": 90.0, "dram_busy_pct": 70.0}, "memory/l2"),
        ({"l1_data_pipe_pct": 90.0}, "memory/l1"),
        ({"l1_data_pipe_pct": 90.0, "shared_pipe_pct": 60.0}, "memory/shared"),
        ({"issue_pct": 95.0, "fma_pct": 90.0}, "compute/issue"),
        ({"fma_pct": 90.0, "issue_pct": 50.0}, "compute/fma"),
        ({"fma_pct": 50.0, "fma_heavy_pct": 99.0}, "compute/fma"),
        ({"fma_pct": 90.0, "fma_fp16_pct": 88.0}, "compute/fp16"),
        ({"tensor_pct": 90.0, "matrix_pct": 90.0}, "compute/tensor"),
        ({"tensor_pct": 90.0, "matrix_pct": 0.1}, "compute/fp16"),
        ({"tensor_int_pct": 90.0, "matrix_pct": 90.0, "tensor_pct": 90.0}, "compute/tensor"),
        ({"fp64_pct": 85.0}, "compute/fp64"),
        ({"alu_pct": 85.0}, "compute/alu"),
        ({"xu_pct": 99.0}, "compute/xu"),
        ({"tensor_pct": 92.0, "l1_data_pipe_pct": 98.0, "shared_pipe_pct": 98.0}, "compute/tensor"),
        ({"issue_pct": 85.0, "l1_data_pipe_pct": 98.0, "shared_pipe_pct": 98.0}, "memory/shared"),
        ({"tensor_pct": 85.0, "dram_busy_pct": 92.0}, "memory/dram"),
        ({"alu_pct": 85.0, "l1_data_pipe_pct": 99.5, "shared_pipe_pct": 99.5}, "memory/shared"),
        ({"xu_pct": 82.0, "l2_tag_pct": 99.5}, "memory/l2"),
        ({"fma_pct": 85.0, "l1_data_pipe_pct": 95.0, "shared_pipe_pct": 95.0}, "compute/fma"),
        ({"l2_atomic_pct": 95.0}, "memory/l2"),
        ({"memory_throughput_pct": 95.0}, "memory"),
    ],
)
def test_family_and_limiter(values: dict[str, float], label: str) -> None:
    assert verdict(**values).label == label


@pytest.mark.parametrize(
    ("values", "limiter"),
    [
        ({"grid_size": 8.0, "stall_cycles": {"barrier": 9.0, "selected": 1.0}}, "under_filled"),
        ({"grid_size": 300.0, "stall_cycles": {"wait": 5.0, "selected": 5.0}}, "under_filled"),
        ({"grid_size": 1000.0, "stall_cycles": {"barrier": 9.0, "selected": 1.0}}, "barrier"),
        ({"stall_cycles": {"long_scoreboard": 9.0, "selected": 1.0}}, "memory_dependency"),
        ({"stall_cycles": {"lg_throttle": 9.0, "selected": 1.0}}, "memory_dependency"),
        ({"stall_cycles": {"wait": 9.0, "selected": 1.0}}, "execution_dependency"),
        ({"stall_cycles": {"no_instruction": 9.0, "selected": 1.0}}, "instruction_fetch"),
        ({"stall_cycles": {"short_scoreboard": 9.0, "selected": 1.0}, "xu_pct": 50.0}, "execution_dependency"),
        ({"stall_cycles": {"short_scoreboard": 9.0, "selected": 1.0}, "shared_pipe_pct": 50.0}, "memory_dependency"),
        ({"stall_samples": {"wait": 900.0, "selected": 100.0}}, "execution_dependency"),
        ({"stall_samples": {"wait": 9.0, "selected": 1.0}}, None),
        (
            {"sm_cycles_active_avg": 100.0, "sm_cycles_active_max": 800.0, "sm_cycles_elapsed": 810.0},
            "imbalance",
        ),
        (
            {"stall_cycles": {"long_scoreboard": 9.0}, "l2_atomic_pct": 0.4, "l2_hottest_atomic_pct": 30.0},
            "atomics",
        ),
        (
            {"stall_cycles": {"long_scoreboard": 9.0}, "l2_reduction_sectors": 90.0, "l2_bytes": 3200.0},
            "atomics",
        ),
        (
            {"stall_cycles": {"long_scoreboard": 9.0}, "l2_reduction_sectors": 1.0, "l2_bytes": 3200.0},
            "memory_dependency",
        ),
        ({"theoretical_occupancy_pct": 6.25, "stall_cycles": {"long_scoreboard": 7.0, "wait": 3.0}}, "occupancy"),
    ],
)
def test_cause_of_latency(values: dict[str, Any], limiter: str | None) -> None:
    sources = {"l2_hottest_atomic_pct": "lts__d_atomic_input_cycles_active.max"}
    found = verdict(sources=sources, **values)
    assert (found.family, found.limiter) == ("latency", limiter)


def test_no_step_promises_more_than_the_busiest_unit_allows() -> None:
    found = verdict(stall_cycles={"long_scoreboard": 99.0, "selected": 1.0})
    assert found.steps[0].at_most_x == pytest.approx(100 / 20)


def test_a_bound_units_step_ends_where_the_next_unit_begins() -> None:
    found = verdict(dram_busy_pct=90.0, l2_tag_pct=45.0)
    assert found.steps[0].at_most_x == pytest.approx(90 / 20), "bytes spared at DRAM are spared at L2"
    asked_less = verdict(dram_busy_pct=45.0, l2_tag_pct=90.0)
    assert asked_less.steps[0].at_most_x == pytest.approx(90 / 45), "L2 asked for less may need as much of DRAM"


def test_coalescing_relieves_every_memory_level() -> None:
    poor = {"load_bytes_per_sector": 4.0, "load_sectors": 100.0, "l2_tag_pct": 70.0}
    (step,) = [one for one in verdict(dram_busy_pct=80.0, **poor).steps if "Coalesce" in one.text]
    assert step.at_most_x == pytest.approx(80 / 20), "issue slots come next"
    (step,) = [one for one in verdict(dram_busy_pct=80.0, issue_pct=1.0, **poor).steps if "Coalesce" in one.text]
    assert step.at_most_x == pytest.approx(80 / 10), "an eighth of the sectors"


def test_nothing_gets_faster_than_an_empty_kernel() -> None:
    found = verdict(grid_size=2.0, duration_ns=1800.0)
    assert found.limiter == "under_filled"
    assert found.steps[0].at_most_x == pytest.approx(2.0)


def test_tensor_work_is_bounded_by_nothing_here() -> None:
    found = verdict(tensor_pct=95.0, matrix_pct=95.0, l1_data_pipe_pct=96.0)
    assert found.steps[0].at_most_x is None


def test_doubted_numbers_are_no_evidence() -> None:
    quantities = Quantities(**{**BUSY, **FULL_GRID, "fma_pct": 140.0})
    doubt = Finding("over_peak", "fma_pct reads 140 %", ("fma_pct",))
    assert classify(CounterProfile(quantities)).label == "compute/fma"
    assert classify(CounterProfile(quantities, findings=(doubt,))).family == "latency"


def test_a_partial_set_of_warp_states_is_no_whole() -> None:
    some = Quantities(**{**BUSY, **FULL_GRID, "stall_cycles": {"long_scoreboard": 9.0, "selected": 1.0}})
    found = classify(CounterProfile(some))
    assert (found.label, "stall_cycles" in found.missing) == ("latency", True)


@pytest.mark.parametrize("lacking", ["grid_size", "sm_count"])
def test_latency_without_the_shape_of_the_work_says_so(lacking: str) -> None:
    found = verdict(**{lacking: None, "stall_cycles": {"wait": 9.0, "selected": 1.0}})
    assert lacking in found.missing


def test_what_is_doubted_is_told_with_the_label() -> None:
    quantities = Quantities(**{**BUSY, **FULL_GRID, "fma_pct": 140.0})
    doubt = Finding("over_peak", "fma_pct reads 140 %", ("fma_pct",))
    assert classify(CounterProfile(quantities, findings=(doubt,))).doubted == ("fma_pct",)


@pytest.mark.parametrize("lacking", [*BUSY])
def test_what_may_hide_a_bound_is_named(lacking: str) -> None:
    found = verdict(**{lacking: None})
    assert found.family == "unknown"
    assert lacking in found.missing


@pytest.mark.parametrize("lacking", [*BUSY])
def test_ncus_own_throughputs_bound_what_is_out_of_sight(lacking: str) -> None:
    found = verdict(**{lacking: None, "sm_throughput_pct": 25.0, "memory_throughput_pct": 25.0})
    assert found.family == "latency"
    assert lacking in found.missing
    hidden = verdict(**{lacking: None, "sm_throughput_pct": 95.0, "memory_throughput_pct": 25.0})
    assert hidden.label == ("compute" if lacking in list(BUSY)[:6] else "latency")


def test_a_side_not_seen_does_not_hide_a_saturated_one() -> None:
    assert verdict(issue_pct=None, dram_busy_pct=93.0).label == "memory/dram"


def test_throughputs_stand_in_for_parts() -> None:
    alone = Quantities(sm_throughput_pct=12.0, memory_throughput_pct=91.0)
    found = classify(CounterProfile(alone))
    assert (found.family, found.limiter) == ("memory", None)


@pytest.mark.parametrize(
    ("values", "near"),
    [
        ({"dram_busy_pct": 60.5}, "latency"),
        ({"dram_busy_pct": 59.5}, "memory"),
        ({"dram_busy_pct": 66.0, "issue_pct": 56.5}, "memory"),
        ({"dram_busy_pct": 90.0, "l2_tag_pct": 89.0}, "memory/l2"),
        ({"dram_busy_pct": 70.0}, None),
    ],
)
def test_near_border(values: dict[str, float], near: str | None) -> None:
    assert verdict(**values).near_border == near


def test_workload_is_launch_bound_when_the_gpu_stands_idle() -> None:
    kernel = KernelVerdict("k", 1.4, verdict(grid_size=2.0))
    found = workload_verdict([kernel], HostShare(device_us=1.4, per_call_us=12.6))
    assert found is not None
    assert found.label == "launch"
    assert found.steps[0].at_most_x == pytest.approx(9.0)
    busy = workload_verdict([kernel], HostShare(device_us=12.0, per_call_us=12.6))
    assert busy is not None
    assert busy.label == "latency/under_filled"


def test_workload_takes_the_label_with_most_time() -> None:
    many = [KernelVerdict("small", 3.0, verdict(grid_size=2.0)) for _ in range(4)]
    found = workload_verdict([*many, KernelVerdict("large", 10.0, verdict(dram_busy_pct=95.0))], None)
    assert found is not None
    assert found.label == "latency/under_filled"
    assert workload_verdict([], None) is None


def test_launches_without_a_time_have_no_say_unless_all_agree() -> None:
    small, large = verdict(grid_size=2.0), verdict(dram_busy_pct=95.0)
    one_time = workload_verdict([KernelVerdict("a", None, small), KernelVerdict("b", 1.0, large)], None)
    no_time = workload_verdict([KernelVerdict("a", None, small), KernelVerdict("b", None, large)], None)
    alike = workload_verdict([KernelVerdict("a", None, large), KernelVerdict("b", None, large)], None)
    assert one_time is not None
    assert one_time.label == "memory/dram"
    assert no_time is not None
    assert (no_time.label, no_time.missing) == ("unknown", ("the time of each launch",))
    assert alike is not None
    assert alike.label == "memory/dram"


def test_a_peak_below_what_moved_makes_no_label() -> None:
    own = {**BUSY, "dram_busy_pct": None, "dram_bytes": 2e9, "duration_ns": 1e6, "dram_peak_bytes_per_s": 1e11}
    quantities = Quantities(**FULL_GRID, **own)  # type: ignore[arg-type]
    doubt = Finding("peak_below_traffic", "less than what moved", ("dram_peak_bytes_per_s",))
    assert classify(CounterProfile(quantities, resolve_gpu("h200-sxm-141gb"), None, (doubt,))).family == "latency"
