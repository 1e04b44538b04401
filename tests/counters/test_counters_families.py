"""Warp states and tensor operations, in all their spellings."""

from __future__ import annotations

import pytest

from kprof.counters.families import stall_cycles, stall_samples, tensor_flop

CYCLES = "smsp__average_warps_issue_stalled_{}_per_issue_active.{}"
OPS = "sm__ops_path_tensor_{}.sum"


def test_cycles_are_the_ratio_and_its_percent_form_is_a_hundred_times_that() -> None:
    assert stall_cycles({CYCLES.format("barrier", "ratio"): 2.629}, None) == {"barrier": 2.629}
    assert stall_cycles({CYCLES.format("barrier", "pct"): 262.9}, None) == {"barrier": pytest.approx(2.629)}


def test_shares_need_the_warps_latency() -> None:
    older: dict[str, float | str] = {"smsp__warp_issue_stalled_wait_per_warp_active.pct": 25.0}
    assert stall_cycles(older, 8.0) == {"wait": 2.0}
    assert stall_cycles(older, None) == {}


def test_samples_in_the_spelling_of_the_aggregates() -> None:
    sampled: dict[str, float | str] = {
        "smsp__pcsamp_warps_issue_stalled_no_instructions": 3.0,
        "smsp__pcsamp_warps_issue_stalled_warpgroup_arrive": 4.0,
        "smsp__pcsamp_warps_issue_stalled_wait_not_issued": 5.0,
    }
    assert stall_samples(sampled) == {"no_instruction": 3.0, "gmma": 4.0}


def test_a_total_is_not_counted_together_with_its_parts() -> None:
    report: dict[str, float | str] = {
        OPS.format("src_bf16_dst_fp32"): 100.0,
        OPS.format("op_hgmma_src_bf16_dst_fp32"): 90.0,
        OPS.format("op_hgmma_src_bf16_dst_fp32_sparsity_off"): 90.0,
        OPS.format("op_hgmma_src_bf16_dst_fp32_sparsity_on"): 0.0,
        OPS.format("op_hmma_src_bf16_dst_fp32"): 10.0,
    }
    assert tensor_flop(report) == {"bf16": 100.0}
    parts = {name: value for name, value in report.items() if "_op_" in name}
    assert tensor_flop(parts) == {"bf16": 100.0}


def test_parts_by_accumulator_and_sparsity_add_up() -> None:
    report: dict[str, float | str] = {
        OPS.format("op_hmma_src_fp16_dst_fp16_sparsity_off"): 1.0,
        OPS.format("op_hmma_src_fp16_dst_fp16_sparsity_on"): 2.0,
        OPS.format("op_hmma_src_fp16_dst_fp32_sparsity_off"): 4.0,
        OPS.format("op_hgmma_src_fp16_sparsity_off"): 8.0,
        OPS.format("src_fp8_sparsity_off"): 16.0,
    }
    assert tensor_flop(report) == {"fp16": 15.0, "fp8": 16.0}


def test_nothing_collected_is_not_zero() -> None:
    assert tensor_flop({"gpu__time_duration.sum": 1.0}) == {}
    assert tensor_flop({OPS.format("src_fp64"): 0.0}) == {"fp64": 0.0}
