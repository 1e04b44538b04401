"""Quantities of the multiprocessors: issue slots, pipes, warps, and the instructions that are FLOP."""

from __future__ import annotations

from typing import Annotated, Final

from kprof.counters.formulas import PCT_ACTIVE, quantity, ratio, scaled, share_of_active
from kprof.counters.memory import MemoryQuantities
from kprof.counters.names import busy, operation, pipe

SCHEDULERS: Final = 4
"""Of a multiprocessor; each issues one instruction a cycle (CUDA C++ Programming Guide, compute capability 7.0 on)."""


class ComputeQuantities(MemoryQuantities, frozen=True, kw_only=True):
    """The part of `kprof.counters.quantities.Quantities` that is about the multiprocessors."""

    # Issue slots and pipes, over elapsed time
    issue_pct: Annotated[
        float | None,
        busy(
            "sm__inst_issued",
            "sm__inst_executed",
            otherwise=(
                ratio("smsp__inst_issued.sum", "smsp__cycles_elapsed.sum", 100),
                ratio("smsp__inst_issued.avg", "smsp__cycles_elapsed.avg", 100),
                scaled("sm__inst_executed.avg.per_cycle_elapsed", 100 / SCHEDULERS),
                share_of_active(f"smsp__issue_active.avg.{PCT_ACTIVE}"),
                ratio("smsp__inst_executed.sum", "smsp__cycles_elapsed.sum", 100),
            ),
        ),
    ] = None
    issue_active_ratio: Annotated[
        float | None,
        quantity(
            "ratio",
            "cycles",
            "smsp__issue_active.avg.per_cycle_active",
            scaled(f"smsp__issue_active.avg.{PCT_ACTIVE}", 0.01),
        ),
    ] = None
    sm_throughput_pct: Annotated[float | None, busy("sm__throughput", asked=False)] = None
    """The busiest of all SM units, those included that bound nothing (barriers); for reports that have no parts."""
    alu_pct: Annotated[float | None, pipe("alu")] = None
    fma_pct: Annotated[float | None, pipe("fma")] = None
    fma_heavy_pct: Annotated[float | None, pipe("fmaheavy")] = None
    fma_fp16_pct: Annotated[float | None, busy("sm__inst_executed_pipe_fma_type_fp16")] = None
    fp16_pct: Annotated[float | None, pipe("fp16")] = None
    fp64_pct: Annotated[float | None, pipe("fp64")] = None
    xu_pct: Annotated[float | None, pipe("xu")] = None
    tensor_pct: Annotated[float | None, pipe("tensor", "tensor_v2", "tc")] = None
    matrix_pct: Annotated[
        float | None,
        busy(
            "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active",
            "sm__pipe_tensor_op_hmma_type_hmma_hgmma_qgmma_cycles_active",
        ),
    ] = None
    """The tensor pipe without the FP16 vector instructions that run there too (HFMA2.MMA)."""
    tensor_fp64_pct: Annotated[float | None, pipe("tensor_op_dmma")] = None
    tensor_int_pct: Annotated[float | None, pipe("tensor_op_imma")] = None

    # Warps
    occupancy_pct: Annotated[float | None, quantity("%", "cycles", f"sm__warps_active.avg.{PCT_ACTIVE}")] = None
    theoretical_occupancy_pct: Annotated[
        float | None, quantity("%", "cycles", "sm__maximum_warps_per_active_cycle_pct")
    ] = None
    eligible_warps: Annotated[
        float | None, quantity("warps", "cycles", "smsp__warps_eligible.avg.per_cycle_active")
    ] = None
    warp_cycles_per_instruction: Annotated[
        float | None,
        quantity(
            "cycles/instruction",
            "instructions",
            "smsp__average_warp_latency_per_inst_issued.ratio",
            "smsp__average_warps_active_per_inst_executed.ratio",
        ),
    ] = None
    instructions: Annotated[
        float | None,
        quantity("count", "sum", "smsp__inst_issued.sum", "smsp__inst_executed.sum", "sm__inst_executed.sum"),
    ] = None
    threads_per_instruction: Annotated[
        float | None, quantity("threads", "instructions", "smsp__thread_inst_executed_per_inst_executed.ratio")
    ] = None
    active_threads_per_instruction: Annotated[
        float | None, quantity("threads", "instructions", "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio")
    ] = None

    # Thread instructions that are FLOP
    fp32_add: Annotated[float | None, operation("fadd")] = None
    fp32_mul: Annotated[float | None, operation("fmul")] = None
    fp32_fma: Annotated[float | None, operation("ffma")] = None
    fp32_add2: Annotated[float | None, operation("fadd2")] = None
    fp32_mul2: Annotated[float | None, operation("fmul2")] = None
    fp32_fma2: Annotated[float | None, operation("ffma2")] = None
    fp16_add: Annotated[float | None, operation("hadd")] = None
    fp16_mul: Annotated[float | None, operation("hmul")] = None
    fp16_fma: Annotated[float | None, operation("hfma")] = None
    fp64_add: Annotated[float | None, operation("dadd")] = None
    fp64_mul: Annotated[float | None, operation("dmul")] = None
    fp64_fma: Annotated[float | None, operation("dfma")] = None
    fp32_peak_per_cycle: Annotated[
        float | None,
        quantity(
            "FLOP/cycle",
            "most",
            scaled("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained", 2),
            asked=False,
        ),
    ] = None
