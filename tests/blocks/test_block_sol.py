"""The block sol: the busiest unit of recorded launches, and a task against its floor."""

from __future__ import annotations

from typing import Any

import pytest
from recorded_ncu import changed, every_launch, h200, probe, profile, quantities_of

from kprof.audit import audit
from kprof.blocks.base import Absence, null_paths
from kprof.blocks.sol import TaskTime, sol_block
from kprof.blocks.sol_records import SolBlock
from kprof.counter_profile import CounterProfile, Finding
from kprof.counters.quantities import Quantities
from kprof.evidence import Reason
from kprof.floor import Floor, task_floor
from kprof.floor_evidence import FloorEvidence
from kprof.metrics import describe

GEMM = quantities_of("library-kernels", 0)
COPY = probe("dram_copy")
LARGE = probe("logsumexp_kernel", 1)
TINY = probe("logsumexp_kernel", 0)
NO_GPU = Absence(status="unavailable", reason=Reason(code="no_cuda_device", message="the run was on a CPU"))
TASK = {"task_score", "floor_us", "floor_bytes", "floor_dram_bytes", "floor_flop", "floor_kind", "headroom"}


def block_of(found: Quantities, *findings: Finding, **changes: Any) -> SolBlock:
    return sol_block(profile(changed(found, **changes), h200(), *findings))


def logsumexp(rows: int, columns: int) -> Floor:
    evidence = FloorEvidence(
        input_bytes=4 * rows * columns * 4,
        parameter_bytes=0,
        output_bytes=rows * columns * 4,
        uncounted_operators=("aten.logsumexp",),
    )
    return task_floor(evidence, h200(), cache="cold", l2_bytes=60 * 2**20)


def told(block: SolBlock) -> dict[str, str]:
    return {path: code for path, code in block.reasons.items() if code != "of_the_whole_task"}


@pytest.mark.parametrize(
    ("name", "score", "unit", "pipe"),
    [
        ("dram_copy", 3969.834 / 4800, "dram", "alu"),
        ("fma_fp32", 0.9778, "issue", "fma"),
        ("mma_fp16", 0.9854 * 1812.745 / 1830, "tensor", "tensor"),
        ("xu_exp", 0.998, "xu", "xu"),
        ("l2_read", 0.8759, "l2", "alu"),
        ("smem_conflict", 0.998, "shared", "alu"),
        # The 70 % that Nsight Compute's SM throughput shows here are barriers.
        ("barrier_heavy", 0.4406, "issue", "alu"),
    ],
)
def test_each_probe_keeps_the_unit_busy_that_it_was_written_for(name: str, score: float, unit: str, pipe: str) -> None:
    block = block_of(probe(name))
    assert block.score == pytest.approx(score, rel=1e-5)
    assert (block.score_unit, block.dominant_pipe, block.status) == (unit, pipe, "ok")
    assert block.memory_util_pct is not None
    assert block.compute_util_pct is not None
    assert block.score == max(block.memory_util_pct, block.compute_util_pct) / 100


def test_a_pipe_with_a_dense_peak_is_held_against_that_peaks_clock() -> None:
    block = block_of(GEMM)
    # 93.5 % busy at 1588 MHz is 81.1 % of what is stated at 1830: as its 803 of 989 TFLOP/s are.
    assert block.compute_util_pct == pytest.approx(81.1, abs=0.05)
    assert (block.score, block.score_unit) == (pytest.approx(0.9468), "shared")
    assert block_of(GEMM, sm_clock_hz=None).compute_util_pct == 93.51
    assert block_of(GEMM, sm_clock_hz=2.2e9).compute_util_pct == 93.51
    assert sol_block(profile(GEMM, None)).compute_util_pct == 93.51


def test_a_score_is_not_clamped() -> None:
    block = block_of(GEMM, tensor_pct=99.0, sm_clock_hz=1980e6)
    assert block.score == pytest.approx(0.99 * 1980 / 1830)


def test_dram_by_its_own_counter_where_the_board_is_not_known() -> None:
    unknown = Reason(code="spec_unknown", message="no board that kprof knows")
    block = sol_block(CounterProfile(COPY, None, unknown))
    assert (block.dram_util_pct, block.score, block.warnings) == (82.5, 0.825, (unknown,))
    assert block_of(COPY, dram_bytes=None).dram_util_pct == 82.5


def test_a_side_with_a_unit_that_nobody_measured_is_not_known() -> None:
    block = block_of(COPY, **dict.fromkeys(("dram_bytes", "dram_busy_pct", "memory_throughput_pct")))
    names = ("score", "score_unit", "dram_util_pct", "memory_util_pct")
    assert told(block) == dict.fromkeys(names, "counter_not_collected")
    assert block.compute_util_pct == 6.03


def test_throughputs_of_all_units_serve_a_report_without_the_parts() -> None:
    section = Quantities(duration_ns=5e4, dram_busy_pct=30.0, memory_throughput_pct=70.0, sm_throughput_pct=40.0)
    block = block_of(section)
    assert (block.score, block.score_unit) == (0.7, "memory")
    assert (block.memory_util_pct, block.compute_util_pct, block.dram_util_pct) == (70.0, 40.0, 30.0)
    # Without DRAM among the counters they may be those of a board that has none.
    lacking = changed(section, dram_busy_pct=None)
    assert sol_block(profile(lacking, None)).score is None
    assert sol_block(profile(lacking, h200())).score == 0.7


def test_idle_pipes_have_no_busiest_one() -> None:
    pipes = ("alu", "fma", "fma_heavy", "fp64", "xu", "tensor", "tensor_fp64", "tensor_int")
    block = block_of(COPY, **{f"{pipe}_pct": 0.0 for pipe in pipes})
    assert block.dominant_pipe is None
    assert told(block) == {"dominant_pipe": "all_pipes_idle"}


def test_what_cannot_be_true_is_kept_and_scores_nothing() -> None:
    wrong = changed(COPY, l2_lookup_pct=300.0)
    block = block_of(wrong, *audit(wrong, h200()))
    assert (block.status, block.score_unit) == ("suspect", "dram")
    assert block.reason is not None
    assert block.reason.code == "over_peak"
    too_much = changed(COPY, dram_bytes=6e12)
    block = block_of(too_much, *audit(too_much, h200()))
    assert block.dram_util_pct == pytest.approx(6e12 / 535680e-9 / 4800e9 * 100)
    assert (block.score, block.status) == (0.825, "suspect")


def test_the_large_logsumexp_against_its_floor() -> None:
    block = sol_block(profile(LARGE, h200()), TaskTime(logsumexp(8192, 4096), kernel_us=230.0))
    assert block.status == "ok"
    assert (block.floor_bytes, block.floor_dram_bytes, block.floor_kind) == (671088640, 608174080, "bytes_only")
    assert block.floor_us == pytest.approx(126.7, abs=0.05)
    assert block.task_score == pytest.approx(126.703 / 230, rel=1e-5)
    assert block.headroom == pytest.approx(230 / 126.703, rel=1e-5)
    assert block.traffic_amplification == pytest.approx((LARGE.dram_bytes or 0) / 608174080)
    assert block.reasons == {"floor_flop": "flop_not_counted"}
    assert [warning.code for warning in block.warnings] == ["flop_not_counted"]


def test_a_tiny_task_says_that_its_floor_is_out_of_reach() -> None:
    block = sol_block(profile(TINY, h200()), TaskTime(logsumexp(10, 32), kernel_us=1.6))
    assert block.headroom == pytest.approx(1500)
    assert block.task_score == pytest.approx(1 / 1500)
    assert "floor_below_launch" in [warning.code for warning in block.warnings]
    assert block.dominant_pipe is not None


def test_faster_than_the_floor() -> None:
    block = sol_block(profile(LARGE, h200()), TaskTime(logsumexp(8192, 4096), kernel_us=63.0))
    assert block.task_score == pytest.approx(126.703 / 63, rel=1e-5)
    assert block.status == "suspect"
    assert block.reason is not None
    assert block.reason.code == "faster_than_floor"


def test_faster_than_a_floor_that_may_be_too_high() -> None:
    evidence = FloorEvidence(
        input_bytes=10**9, parameter_bytes=0, output_bytes=10**6, indexing_operators=("aten.embedding",)
    )
    floor = task_floor(evidence, h200(), cache="cold", l2_bytes=60 * 2**20)
    block = sol_block(profile(LARGE, h200()), TaskTime(floor, kernel_us=10.0))
    assert block.status == "ok"
    assert block.task_score == pytest.approx(10**9 / 4800e9 / 10e-6)
    assert [warning.code for warning in block.warnings][:2] == ["floor_overestimated", "reads_by_index"]


def test_without_counters_the_task_is_still_there() -> None:
    absent = Absence(status="failed", reason=Reason(code="ncu_not_found", message="no ncu on PATH"))
    block = sol_block(None, TaskTime(logsumexp(8192, 4096), kernel_us=230.0), absent)
    assert (block.status, block.reason) == ("ok", absent.reason)
    assert block.task_score == pytest.approx(126.703 / 230, rel=1e-5)
    hardware = (
        "score",
        "score_unit",
        "dram_util_pct",
        "memory_util_pct",
        "compute_util_pct",
        "dominant_pipe",
        "dominant_pipe_pct",
        "issue_util_pct",
    )
    gone = (*hardware, "traffic_amplification")
    assert block.reasons == {**dict.fromkeys(gone, "ncu_not_found"), "floor_flop": "flop_not_counted"}


def test_the_cpu_has_bytes_and_flop_but_no_roof() -> None:
    evidence = FloorEvidence(input_bytes=5120, parameter_bytes=0, output_bytes=1280, flop={"fp32": 640})
    floor = task_floor(evidence, None, cache="warm")
    block = sol_block(None, TaskTime(floor, kernel_us=20.0), NO_GPU)
    assert (block.status, block.reason) == ("unavailable", NO_GPU.reason)
    assert (block.floor_bytes, block.floor_flop) == (6400, 640)
    names = ("floor_us", "floor_dram_bytes", "floor_kind", "task_score", "headroom")
    assert {block.reasons[name] for name in names} == {"ceilings_not_measured"}
    assert block.reasons["score"] == block.reasons["traffic_amplification"] == "no_cuda_device"


def test_without_a_time_or_a_floor() -> None:
    untimed = sol_block(profile(LARGE, h200()), TaskTime(logsumexp(8192, 4096), time_absent="crashed"))
    assert told(untimed) == {"task_score": "crashed", "headroom": "crashed", "floor_flop": "flop_not_counted"}
    absent = Reason(code="no_reference", message="no reference was given")
    floorless = sol_block(profile(LARGE, h200()), TaskTime(None, absent, kernel_us=5.0))
    assert told(floorless) == dict.fromkeys((*TASK, "traffic_amplification"), "no_reference")
    assert floorless.status == "ok"


def test_a_single_launch_has_no_task() -> None:
    block = block_of(LARGE)
    assert block.reasons == dict.fromkeys((*TASK, "traffic_amplification"), "of_the_whole_task")


def test_a_report_with_none_of_it() -> None:
    block = block_of(Quantities(duration_ns=5.0))
    assert block.status == "unavailable"
    assert block.reason is not None
    assert block.reason.code == block.reasons["score"] == "counter_not_collected"


@pytest.mark.parametrize(("report", "launch_id"), every_launch())
def test_every_recorded_launch_has_a_score_of_what_is_physical(report: str, launch_id: int) -> None:
    block = block_of(quantities_of(report, launch_id))
    assert block.score is not None
    assert 0 < block.score <= 1
    assert told(block) == {}
    assert set(block.reasons) == set(null_paths(block))


def test_each_missing_counter_is_explained() -> None:
    for name in Quantities.__struct_fields__:
        if isinstance(getattr(LARGE, name), float):
            block = block_of(LARGE, **{name: None})
            assert set(block.reasons) == set(null_paths(block))
            assert all(block.reasons.values()), name


def test_every_field_has_its_unit() -> None:
    assert describe(SolBlock)["floor_dram_bytes"].unit == "bytes"
    assert describe(SolBlock)["score"].better == "higher"
