"""How busy the hardware was, in the block sol of recorded launches, and units that nobody measured."""

from __future__ import annotations

import pytest
from recorded_ncu import changed, every_launch, h200, probe, profile, quantities_of
from sol_blocks import COPY, LARGE, block_of, told

from kprof.audit import audit
from kprof.blocks.base import null_paths
from kprof.blocks.sol import sol_block
from kprof.counter_profile import CounterProfile
from kprof.counters.quantities import Quantities
from kprof.evidence import Reason

GEMM = quantities_of("library-kernels", 0)


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
