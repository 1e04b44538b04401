"""The block sol: a task against its floor, and what is said where counters, a time or a floor are missing."""

from __future__ import annotations

import pytest
from recorded_ncu import h200, probe, profile
from sol_blocks import LARGE, block_of, told

from kprof.blocks.base import Absence
from kprof.blocks.sol import TaskTime, sol_block
from kprof.blocks.sol_records import SolBlock
from kprof.counters.quantities import Quantities
from kprof.evidence import Reason
from kprof.floor import Floor, task_floor
from kprof.floor_evidence import FloorEvidence
from kprof.metrics import describe

TINY = probe("logsumexp_kernel", 0)
NO_GPU = Absence(status="unavailable", reason=Reason(code="no_cuda_device", message="the run was on a CPU"))
TASK = {"task_score", "floor_us", "floor_bytes", "floor_dram_bytes", "floor_flop", "floor_kind", "headroom"}


def logsumexp(rows: int, columns: int) -> Floor:
    evidence = FloorEvidence(
        input_bytes=4 * rows * columns * 4,
        parameter_bytes=0,
        output_bytes=rows * columns * 4,
        uncounted_operators=("aten.logsumexp",),
    )
    return task_floor(evidence, h200(), cache="cold", l2_bytes=60 * 2**20)


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


def test_every_field_has_its_unit() -> None:
    assert describe(SolBlock)["floor_dram_bytes"].unit == "bytes"
    assert describe(SolBlock)["score"].better == "higher"
