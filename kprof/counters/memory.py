"""Quantities of time and memory: DRAM, L2, L1 and shared memory."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from kprof.counters.formulas import BYTES_PER_SECTOR as SECTOR
from kprof.counters.formulas import PCT_ELAPSED, product, quantity, ratio, scaled, total
from kprof.counters.names import DURATION, busy, global_access, per_second

_TRIAGE: Final = "SM_B.TriageCompute"


class MemoryQuantities(msgspec.Struct, frozen=True, kw_only=True):
    """The part of `kprof.counters.quantities.Quantities` that is about time and memory."""

    # Time and clocks
    duration_ns: Annotated[
        float | None,
        quantity(
            "ns",
            "sum",
            DURATION,
            "gpu__time_duration.avg",
            "gpu__time_duration_measured_user.sum",
            "gpu__time_active.sum",
            least=1.0,
        ),
    ] = None
    sm_clock_hz: Annotated[
        float | None,
        quantity("hz", "time", "gpc__cycles_elapsed.avg.per_second", ratio("gpc__cycles_elapsed.max", DURATION, 1e9)),
    ] = None
    sm_cycles_elapsed: Annotated[
        float | None, quantity("cycles", "sum", "sm__cycles_elapsed.avg", "smsp__cycles_elapsed.avg")
    ] = None
    sm_cycles_active_avg: Annotated[
        float | None, quantity("cycles", "sum", "sm__cycles_active.avg", "smsp__cycles_active.avg")
    ] = None
    sm_cycles_active_max: Annotated[
        float | None, quantity("cycles", "sum", "sm__cycles_active.max", "smsp__cycles_active.max")
    ] = None

    # DRAM
    dram_read_bytes: Annotated[
        float | None,
        quantity(
            "bytes",
            "sum",
            "dram__bytes_read.sum",
            "dram__bytes_op_read.sum",
            scaled("dram__sectors_read.sum", SECTOR),
            scaled("dram__sectors_op_read.sum", SECTOR),
            per_second("dram__bytes_read"),
            per_second("dram__bytes_op_read"),
        ),
    ] = None
    dram_write_bytes: Annotated[
        float | None,
        quantity(
            "bytes",
            "sum",
            "dram__bytes_write.sum",
            "dram__bytes_op_write.sum",
            scaled("dram__sectors_write.sum", SECTOR),
            scaled("dram__sectors_op_write.sum", SECTOR),
            per_second("dram__bytes_write"),
            per_second("dram__bytes_op_write"),
        ),
    ] = None
    dram_bytes: Annotated[
        float | None,
        quantity(
            "bytes",
            "sum",
            total("dram__bytes_read.sum", "dram__bytes_write.sum"),
            total("dram__bytes_op_read.sum", "dram__bytes_op_write.sum"),
            "dram__bytes.sum",
            total("dram__sectors_read.sum", "dram__sectors_write.sum", factor=SECTOR),
            scaled("dram__sectors.sum", SECTOR),
            per_second("dram__bytes"),
        ),
    ] = None
    dram_peak_bytes_per_s: Annotated[
        float | None,
        quantity(
            "byte/s",
            "most",
            product("dram__bytes.sum.peak_sustained", "dram__cycles_elapsed.avg.per_second"),
            "dram__bytes.sum.peak_sustained_elapsed.per_second",
        ),
    ] = None
    dram_busy_pct: Annotated[float | None, busy("dram__cycles_active", "dram__throughput", "gpu__dram_throughput")] = (
        None
    )

    memory_throughput_pct: Annotated[float | None, busy("gpu__compute_memory_throughput", asked=False)] = None
    """The busiest of all memory units; for reports that have no parts."""

    # L2
    l2_sectors: Annotated[
        float | None,
        quantity("count", "sum", "lts__t_sectors.sum", scaled("lts__t_bytes.sum", 1 / SECTOR)),
    ] = None
    l2_hit_sectors: Annotated[
        float | None,
        quantity(
            "count",
            "sum",
            "lts__t_sectors_lookup_hit.sum",
            product("lts__t_sector_hit_rate.pct", "lts__t_sectors.sum", factor=0.01),
        ),
    ] = None
    l2_hit_rate_pct: Annotated[
        float | None, quantity("%", "none", "lts__t_sector_hit_rate.pct", "lts__average_t_sector_hit_rate.pct")
    ] = None
    l2_bytes: Annotated[
        float | None,
        quantity(
            "bytes",
            "sum",
            scaled("lts__t_sectors_srcunit_tex.sum", SECTOR),
            "lts__t_bytes.sum",
            scaled("lts__t_sectors.sum", SECTOR),
            scaled("lts__lts2xbar_cycles_active.sum", SECTOR),
        ),
    ] = None
    l2_to_sm_pct: Annotated[float | None, busy("lts__lts2xbar_cycles_active")] = None
    l2_from_sm_pct: Annotated[float | None, busy("lts__xbar2lts_cycles_active")] = None
    l2_tag_pct: Annotated[float | None, busy("lts__t_tag_requests")] = None
    l2_lookup_pct: Annotated[float | None, busy("lts__t_sectors")] = None
    l2_data_pct: Annotated[float | None, busy("lts__d_sectors")] = None
    l2_atomic_pct: Annotated[float | None, busy("lts__d_atomic_input_cycles_active")] = None
    l2_hottest_atomic_pct: Annotated[
        float | None, quantity("%", "largest", f"lts__d_atomic_input_cycles_active.max.{PCT_ELAPSED}")
    ] = None
    l2_reduction_sectors: Annotated[
        float | None,
        quantity(
            "count",
            "sum",
            "lts__t_sectors_srcunit_tex_op_red.sum",
            "lts__t_sectors_op_red.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
        ),
    ] = None
    l2_atomic_sectors: Annotated[
        float | None,
        quantity(
            "count",
            "sum",
            "lts__t_sectors_srcunit_tex_op_atom.sum",
            "lts__t_sectors_op_atom.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
        ),
    ] = None
    l2_peak_bytes_per_s: Annotated[
        float | None,
        quantity(
            "byte/s",
            "most",
            product(
                "lts__lts2xbar_cycles_active.sum.peak_sustained", "lts__cycles_elapsed.avg.per_second", factor=SECTOR
            ),
        ),
    ] = None

    # L1 and shared memory
    l1_data_pipe_pct: Annotated[float | None, busy("l1tex__data_pipe_lsu_wavefronts")] = None
    l1_request_pct: Annotated[float | None, busy("l1tex__lsuin_requests", "sm__inst_executed_pipe_lsu")] = None
    l1_writeback_pct: Annotated[
        float | None,
        busy(
            "l1tex__lsu_writeback_active", "l1tex__lsu_writeback_active_mem_lgds", "l1tex__lsu_writeback_active_mem_lg"
        ),
    ] = None
    l1_texture_pct: Annotated[float | None, busy("l1tex__f_wavefronts", asked=False)] = None
    shared_wavefronts: Annotated[
        float | None, quantity("count", "sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")
    ] = None
    shared_pipe_pct: Annotated[
        float | None,
        quantity(
            "%",
            "time",
            f"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.{PCT_ELAPSED}",
            f"l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.{PCT_ELAPSED}",
        ),
    ] = None
    bank_conflicts: Annotated[
        float | None,
        quantity(
            "count",
            "sum",
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
            total(
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
            ),
        ),
    ] = None
    l1_sectors: Annotated[
        float | None, quantity("count", "sum", "l1tex__t_sectors.sum", f"{_TRIAGE}.l1tex__t_sectors.sum")
    ] = None
    l1_hit_sectors: Annotated[
        float | None,
        quantity(
            "count",
            "sum",
            "l1tex__t_sectors_lookup_hit.sum",
            f"{_TRIAGE}.l1tex__t_sectors_lookup_hit.sum",
            product("l1tex__t_sector_hit_rate.pct", "l1tex__t_sectors.sum", factor=0.01),
        ),
    ] = None
    l1_hit_rate_pct: Annotated[float | None, quantity("%", "none", "l1tex__t_sector_hit_rate.pct")] = None
    l1_bytes: Annotated[
        float | None,
        quantity(
            "bytes",
            "sum",
            "l1tex__t_bytes.sum",
            scaled("l1tex__t_sectors.sum", SECTOR),
            scaled(f"{_TRIAGE}.l1tex__t_sectors.sum", SECTOR),
        ),
    ] = None
    l1_peak_bytes_per_cycle: Annotated[
        float | None,
        quantity(
            "byte/cycle",
            "most",
            scaled("l1tex__lsu_writeback_active_mem_lgds.sum.peak_sustained", 128),
            scaled("l1tex__lsu_writeback_active_mem_lg.sum.peak_sustained", 128),
        ),
    ] = None
    load_sectors: Annotated[float | None, quantity("count", "sum", global_access("sectors", "ld"))] = None
    load_requests: Annotated[float | None, quantity("count", "sum", global_access("requests", "ld"))] = None
    store_sectors: Annotated[float | None, quantity("count", "sum", global_access("sectors", "st"))] = None
    store_requests: Annotated[float | None, quantity("count", "sum", global_access("requests", "st"))] = None
    load_sectors_per_request: Annotated[
        float | None,
        quantity(
            "sectors/request",
            "none",
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
            ratio(global_access("sectors", "ld"), global_access("requests", "ld")),
        ),
    ] = None
    store_sectors_per_request: Annotated[
        float | None,
        quantity(
            "sectors/request",
            "none",
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
            ratio(global_access("sectors", "st"), global_access("requests", "st")),
        ),
    ] = None
    load_bytes_per_sector: Annotated[
        float | None,
        quantity("byte/sector", "load_sectors", "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"),
    ] = None
    store_bytes_per_sector: Annotated[
        float | None,
        quantity("byte/sector", "store_sectors", "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"),
    ] = None
    local_bytes: Annotated[
        float | None,
        quantity(
            "bytes",
            "sum",
            total(
                "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
                "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
                factor=SECTOR,
            ),
            total("l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum", "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum"),
        ),
    ] = None
