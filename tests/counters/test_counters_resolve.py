"""From metrics to quantities: preferred names, fallbacks, reasons."""

from __future__ import annotations

import pytest

from kprof.counter_evidence import MetricAbsence, ProfiledLaunch
from kprof.counters.quantities import Quantities, table
from kprof.counters.resolve import is_wanted, resolve

LD_RATIO = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"
LD_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
LD_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"


def resolved(metrics: dict[str, float | str], absent: dict[str, MetricAbsence] | None = None) -> Quantities:
    return resolve(ProfiledLaunch(launch_id=0, name="k", metrics=metrics, absent=absent or {}))


def test_sectors_a_request_by_its_name_or_from_its_parts() -> None:
    named = resolved({LD_RATIO: 4.0})
    made = resolved({LD_SECTORS: 400.0, LD_REQUESTS: 100.0})
    assert named.load_sectors_per_request == made.load_sectors_per_request == 4.0
    assert named.sources["load_sectors_per_request"] == LD_RATIO
    assert LD_REQUESTS in made.sources["load_sectors_per_request"]


def test_no_requests_is_no_ratio() -> None:
    found = resolved({LD_SECTORS: 0.0, LD_REQUESTS: 0.0})
    assert found.load_sectors_per_request is None
    assert found.missing["load_sectors_per_request"] == "nothing_counted"


def test_a_renamed_counter_answers() -> None:
    found = resolved({"dram__bytes_op_read.sum": 640e3})
    assert found.dram_read_bytes == 640e3
    assert found.sources["dram_read_bytes"] == "dram__bytes_op_read.sum"


def test_a_new_name_answers_where_the_old_one_has_no_value() -> None:
    found = resolved({"dram__bytes_op_read.sum": 5.0}, {"dram__bytes_read.sum": "not_available"})
    assert found.dram_read_bytes == 5.0


def test_the_reason_is_that_of_the_metric_in_the_report() -> None:
    found = resolved({}, {"dram__bytes_write.sum": "not_a_number"})
    assert found.missing["dram_write_bytes"] == "not_a_number"
    assert found.missing["dram_read_bytes"] == "counter_not_collected"


def test_a_real_zero_stays_zero() -> None:
    assert resolved({"dram__bytes_read.sum": 0.0}).dram_read_bytes == 0.0


def test_text_is_no_number() -> None:
    assert resolved({"launch__grid_size": "many"}).grid_size is None


def test_totals_from_rates_and_rates_a_cycle() -> None:
    rate = resolved({"dram__bytes_read.sum.per_second": 2e12, "gpu__time_duration.sum": 500_000.0})
    assert rate.dram_read_bytes == pytest.approx(1e9)
    stem = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
    cycles = resolved({f"{stem}.per_cycle_elapsed": 100.0, "smsp__cycles_elapsed.avg": 50.0})
    assert cycles.fp32_fma == 5000.0


def test_active_shares_become_elapsed_ones() -> None:
    found = resolved(
        {
            "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active": 80.0,
            "sm__cycles_active.avg": 50.0,
            "sm__cycles_elapsed.avg": 100.0,
        }
    )
    assert found.xu_pct == 40.0


def test_every_null_has_a_reason_and_every_value_a_source() -> None:
    found = resolved({"gpu__time_duration.sum": 1.0, LD_SECTORS: 3.0})
    for name in table():
        assert (getattr(found, name) is None) == (name in found.missing)
        assert (getattr(found, name) is not None) == (name in found.sources)


def test_what_is_wanted() -> None:
    assert is_wanted("dram__bytes_op_read.sum")
    assert is_wanted("smsp__pcsamp_warps_issue_stalled_no_instructions")
    assert not is_wanted("smsp__pcsamp_warps_issue_stalled_wait_not_issued")
    assert is_wanted("sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum")
    assert not is_wanted("sm__ops_path_tensor_src_fp16.sum.peak_sustained")
    assert not is_wanted("nvlink__bandwidth")


@pytest.mark.parametrize(
    ("metric", "value", "name"),
    [
        ("device__attribute_multiprocessor_count", 0.0, "sm_count"),
        ("launch__block_size", 0.5, "block_size"),
        ("launch__registers_per_thread", -5.0, "registers_per_thread"),
        ("gpu__time_duration.sum", 1e-320, "duration_ns"),
        ("launch__shared_mem_per_block_static", 1e308, "smem_static_bytes"),
        ("launch__occupancy_limit_warps", 1e308, "blocks_by_warps"),
        ("launch__waves_per_multiprocessor", -1.0, "waves_per_sm"),
        ("dram__bytes_read.sum", 1e300, "dram_read_bytes"),
    ],
)
def test_a_number_that_cannot_be_is_none(metric: str, value: float, name: str) -> None:
    found = resolved({metric: value})
    assert getattr(found, name) is None
    assert found.missing[name] == "implausible"


def test_grid_and_block_are_known_of_every_launch() -> None:
    launch = ProfiledLaunch(launch_id=0, name="k", grid=(4, 2, 1), block=(16, 16, 1))
    found = resolve(launch)
    assert (found.grid_size, found.block_size) == (8.0, 256.0)
    assert found.sources["grid_size"] == "grid size"


def test_a_member_too_large_takes_its_family_with_it() -> None:
    names = [f"sm__ops_path_tensor_src_{kind}_dst_fp32.sum" for kind in ("bf16", "fp16")]
    assert set(resolved(dict.fromkeys(names, 8.0)).tensor_flop) == {"bf16", "fp16"}
    found = resolved({names[0]: 8.0, names[1]: 1e300})
    assert (found.tensor_flop, found.missing["tensor_flop"]) == ({}, "implausible")
