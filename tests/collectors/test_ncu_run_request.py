"""Which metrics are asked for: against the list of a real ncu, lists that lack names, and none."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kprof.collectors.ncu_run.request import default_request, full_request, knows, tensor_request
from kprof.collectors.ncu_run.tool import parse_metrics
from kprof.counter_evidence import ProfiledLaunch
from kprof.counters.families import SAMPLES_GROUP, tensor_flop
from kprof.counters.quantities import table
from kprof.counters.resolve import resolve

DATA = Path(__file__).resolve().parents[1] / "data" / "ncu"
# Nsight Compute 2025.3.1 on an H200.
GH100 = frozenset(parse_metrics(gzip.decompress((DATA / "query_metrics_gh100.txt.gz").read_bytes()).decode()))
PACKED_FP32 = {"fp32_add2", "fp32_mul2", "fp32_fma2"}


def answered_by(metrics: tuple[str, ...]) -> set[str]:
    """The quantities that a launch has which was asked for these metrics, all of them 1."""
    launch = ProfiledLaunch(launch_id=0, name="k", metrics=dict.fromkeys(metrics, 1.0))
    found = resolve(launch)
    return {name for name in table() if getattr(found, name) is not None}


def test_the_default_set_answers_all_that_gh100_can() -> None:
    request = default_request(GH100)
    asked = {name for name, quantity in table().items() if quantity.asked}
    # GH100 has no packed FP32 and runs its FP16 vector instructions elsewhere than in a pipe of their own.
    assert asked - answered_by(request.metrics) == PACKED_FP32 | {"fp16_pct"} & asked
    assert request.purpose == "default"
    assert SAMPLES_GROUP in request.metrics
    assert request.section_set is None


def test_the_default_set_is_what_was_measured_to_cost_ten_passes() -> None:
    # 92 metrics and the group. Whoever adds one measures the passes again (at most 12 on GH100).
    request = default_request(GH100)
    assert len(request.metrics) == len(set(request.metrics)) == 93
    costly = [name for name in request.metrics if "throughput" in name or "issue_stalled" in name or "ops_path" in name]
    assert costly == []


def test_the_first_formula_that_is_known_is_asked_for() -> None:
    lacking = GH100 - {"dram__bytes_read", "lts__t_sectors_lookup_hit"} | {"dram__bytes_op_read"}
    metrics = default_request(lacking).metrics
    assert "dram__bytes_op_read.sum" in metrics
    assert "dram__bytes_read.sum" not in metrics
    assert {"lts__t_sector_hit_rate.pct", "lts__t_sectors.sum"} <= set(metrics)


def test_what_is_not_known_is_not_asked_for() -> None:
    few = frozenset({"gpu__time_duration", "sm__cycles_active"})
    metrics = default_request(few).metrics
    listed = [name for name in metrics if not name.startswith(("launch__", "device__", "sm__maximum_", "group:"))]
    assert listed == ["gpu__time_duration.sum", "sm__cycles_active.avg", "sm__cycles_active.max"]
    assert tensor_request(few).metrics == ()


def test_without_a_list_the_first_formulas_are_asked_for() -> None:
    first = {name for quantity in table().values() if quantity.asked for name in quantity.formulas[0].names}
    assert set(default_request(None).metrics) == first | {SAMPLES_GROUP}


@settings(max_examples=50, deadline=None)
@given(st.sets(st.sampled_from(sorted({n.split(".")[0] for q in table().values() for n in q.names}))))
def test_nothing_unknown_is_ever_asked_for(known: set[str]) -> None:
    for request in (default_request(frozenset(known)), tensor_request(frozenset(known))):
        assert all(knows(frozenset(known), name) for name in request.metrics)


@pytest.mark.parametrize(
    ("name", "is_known"),
    [
        ("SM_B.TriageCompute.l1tex__t_sectors.sum", True),
        ("l1tex__t_sectors.sum.peak_sustained", True),
        ("l1tex__t_sectorz.sum", False),
        ("l1tex__t_sector", False),
        ("SM_B.sum", False),
        ("launch__anything", True),
        ("sm__maximum_warps_per_active_cycle_pct", True),
        ("profiler__replayer_passes", True),
    ],
)
def test_a_name_is_known_by_its_base(name: str, is_known: bool) -> None:
    assert knows(GH100, name) is is_known


def test_tensor_sums_of_gh100_are_the_totals() -> None:
    stems = {name.removeprefix("sm__ops_path_tensor_src_") for name in tensor_request(GH100).metrics}
    assert stems == {
        "bf16_dst_fp32.sum", "fp16.sum", "fp64.sum", "fp8.sum", "int1.sum", "int8.sum", "tf32_dst_fp32.sum",
    }  # fmt: skip


def test_tensor_sums_of_a_chip_that_splits_them() -> None:
    split = {
        "sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_off": 1.0,
        "sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_on": 2.0,
        "sm__ops_path_tensor_src_fp16_dst_fp16_sparsity_off": 4.0,
        "sm__ops_path_tensor_src_fp64": 8.0,
        "sm__ops_path_tensor_op_utcqmma_src_fp8_dst_fp32_sparsity_off": 16.0,
        "sm__ops_path_tensor_op_hmma_src_fp8_dst_fp32": 32.0,
        "sm__ops_path_tensor_op_hmma_src_fp8_dst_fp32_sparsity_off": 32.0,
        "sm__ops_path_tensor_op_hmma_src_fp64": 8.0,
        "sm__pipe_tensor_cycles_active": 1.0,
    }
    asked = tensor_request(frozenset(split)).metrics
    assert "sm__ops_path_tensor_op_hmma_src_fp8_dst_fp32_sparsity_off.sum" not in asked
    answer = {name: split[name.removesuffix(".sum")] for name in asked}
    assert tensor_flop(answer) == {"fp16": 7.0, "fp64": 8.0, "fp8": 48.0}


@pytest.mark.parametrize("known", [GH100, None])
def test_full_asks_for_all(known: frozenset[str] | None) -> None:
    request = full_request(known)
    assert (request.purpose, request.section_set) == ("full", "full")
    assert {*default_request(known).metrics, *tensor_request(known).metrics} <= set(request.metrics)
    assert "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio" in request.metrics
    assert len(request.metrics) == len(set(request.metrics))
