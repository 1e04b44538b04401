"""The records of the blocks that need more than this version collects: counters, the spec, the floor."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from kprof.blocks.base import Block
from kprof.evidence import Record
from kprof.metrics import metric

NCU: Final = "Nsight Compute counters"
SPEC: Final = "the board's spec"
NCU_AND_SPEC: Final = "Nsight Compute counters and the board's spec"
FLOOR: Final = "algorithmic minimum of the task and the board's spec"
PROFILER: Final = "torch.profiler, and the floor"
CHECKS: Final = "kprof's checks of the run"

Family = Literal["memory", "compute", "latency", "launch", "balanced", "unknown"]


class WaterfallBlock(Block, frozen=True, kw_only=True):
    """Where the time of one call goes: ``host_us`` is the sum of the other parts."""

    host_us: Annotated[float | None, metric("us", "One call on the host", better="lower", source=PROFILER)] = None
    gap_us: Annotated[float | None, metric("us", "The host cannot keep up", better="lower", source=PROFILER)] = None
    idle_us: Annotated[float | None, metric("us", "Idle between kernels", better="lower", source=PROFILER)] = None
    excess_us: Annotated[float | None, metric("us", "Kernels above the floor", better="lower", source=PROFILER)] = None
    floor_us: Annotated[float | None, metric("us", "Least time of the task", source=FLOOR)] = None


class SolBlock(Block, frozen=True, kw_only=True):
    """How busy the hardware is (``score``), and how far the result is from the best possible (``task_score``)."""

    score: Annotated[
        float | None, metric("ratio", "Busiest unit over elapsed time, 0 to 1", better="higher", source=NCU_AND_SPEC)
    ] = None
    score_unit: Annotated[str | None, metric("text", "The busiest unit", source=NCU)] = None
    dram_util_pct: Annotated[float | None, metric("%", "DRAM bandwidth used", better="higher", source=NCU)] = None
    memory_util_pct: Annotated[float | None, metric("%", "Memory throughput used", better="higher", source=NCU)] = None
    compute_util_pct: Annotated[float | None, metric("%", "SM throughput used", better="higher", source=NCU)] = None
    dominant_pipe: Annotated[str | None, metric("text", "The busiest math pipe", source=NCU)] = None
    task_score: Annotated[
        float | None, metric("ratio", "floor_us / timing.kernel_us", better="higher", source=FLOOR)
    ] = None
    floor_us: Annotated[float | None, metric("us", "Least time the task could take here", source=FLOOR)] = None
    floor_bytes: Annotated[float | None, metric("bytes", "Least bytes the task moves", source=FLOOR)] = None
    floor_flop: Annotated[float | None, metric("FLOP", "FLOP of the reference", source=FLOOR)] = None
    floor_kind: Annotated[str | None, metric("text", "How firm the floor is", source=FLOOR)] = None
    headroom: Annotated[
        float | None,
        metric("ratio", "Time over floor: how many times faster is possible", better="lower", source=FLOOR),
    ] = None
    traffic_amplification: Annotated[
        float | None, metric("ratio", "DRAM bytes moved over floor_bytes", better="lower", source=NCU)
    ] = None


class Ceiling(Record, frozen=True, kw_only=True):
    """One roof of the plot: a bandwidth or a compute peak, the other null."""

    name: Annotated[str, metric("text", "Which roof", source=SPEC)]
    bandwidth_gbs: Annotated[float | None, metric("GB/s", "Bandwidth of a memory roof", source=SPEC)] = None
    peak_tflops: Annotated[float | None, metric("TFLOP/s", "Dense peak of a compute roof", source=SPEC)] = None


class Point(Record, frozen=True, kw_only=True):
    """One kernel on the plot."""

    name: Annotated[str, metric("text", "Which kernel, at which memory level", source=NCU)]
    arithmetic_intensity: Annotated[float | None, metric("FLOP/byte", "FLOP over bytes there", source=NCU)] = None
    achieved_tflops: Annotated[float | None, metric("TFLOP/s", "FLOP over time", source=NCU)] = None


class RooflineBlock(Block, frozen=True, kw_only=True):
    """Rates reached, the roofs above them, and how near they are. Peaks are dense, of this very board."""

    dram_bandwidth_gbs: Annotated[float | None, metric("GB/s", "DRAM bytes over time", better="higher", source=NCU)] = (
        None
    )
    dram_read_gbs: Annotated[float | None, metric("GB/s", "DRAM bytes read over time", source=NCU)] = None
    dram_write_gbs: Annotated[float | None, metric("GB/s", "DRAM bytes written over time", source=NCU)] = None
    dram_util_pct: Annotated[
        float | None, metric("%", "DRAM bandwidth over its peak", better="higher", source=NCU_AND_SPEC)
    ] = None
    fp32_tflops: Annotated[float | None, metric("TFLOP/s", "FP32 rate", better="higher", source=NCU)] = None
    fp32_util_pct: Annotated[
        float | None, metric("%", "FP32 rate over its peak", better="higher", source=NCU_AND_SPEC)
    ] = None
    fp16_tflops: Annotated[float | None, metric("TFLOP/s", "FP16 rate outside tensor cores", source=NCU)] = None
    fp64_tflops: Annotated[float | None, metric("TFLOP/s", "FP64 rate", source=NCU)] = None
    tensor_tflops: Annotated[
        dict[str, float] | None, metric("TFLOP/s", "Tensor rate, by element type", better="higher", source=NCU)
    ] = None
    arithmetic_intensity: Annotated[float | None, metric("FLOP/byte", "FLOP over DRAM bytes", source=NCU)] = None
    l2_arithmetic_intensity: Annotated[float | None, metric("FLOP/byte", "FLOP over L2 bytes", source=NCU)] = None
    l1_arithmetic_intensity: Annotated[float | None, metric("FLOP/byte", "FLOP over L1 bytes", source=NCU)] = None
    ridge_point: Annotated[float | None, metric("FLOP/byte", "Peak rate over DRAM bandwidth", source=SPEC)] = None
    attainable_tflops: Annotated[
        float | None, metric("TFLOP/s", "Smaller of peak and intensity times bandwidth", source=NCU_AND_SPEC)
    ] = None
    roofline_pct: Annotated[
        float | None, metric("%", "Rate reached over attainable", better="higher", source=NCU_AND_SPEC)
    ] = None
    peak_bandwidth_gbs: Annotated[float | None, metric("GB/s", "DRAM peak", source=SPEC)] = None
    peak_fp32_tflops: Annotated[float | None, metric("TFLOP/s", "FP32 peak", source=SPEC)] = None
    peak_fp16_tflops: Annotated[float | None, metric("TFLOP/s", "FP16 tensor peak, dense", source=SPEC)] = None
    sm_clock_mhz: Annotated[float | None, metric("MHz", "SM clock while profiled", source=NCU)] = None
    ceilings: Annotated[tuple[Ceiling, ...] | None, metric("record", "The roofs of the plot", source=SPEC)] = None
    points: Annotated[tuple[Point, ...] | None, metric("record", "The kernels on the plot", source=NCU)] = None


class OccupancyBlock(Block, frozen=True, kw_only=True):
    """How full the multiprocessors are, and what stops them from being fuller."""

    achieved_pct: Annotated[float | None, metric("%", "Warps active", better="higher", source=NCU)] = None
    theoretical_pct: Annotated[float | None, metric("%", "Warps that fit", better="higher", source=NCU)] = None
    limiter: Annotated[str | None, metric("text", "What limits the warps that fit", source=NCU)] = None
    registers_per_thread: Annotated[int | None, metric("count", "Registers of a thread", source=NCU)] = None
    smem_static_bytes: Annotated[int | None, metric("bytes", "Static shared memory of a block", source=NCU)] = None
    smem_dynamic_bytes: Annotated[int | None, metric("bytes", "Dynamic shared memory of a block", source=NCU)] = None
    block_size: Annotated[int | None, metric("count", "Threads of a block", source=NCU)] = None
    grid_size: Annotated[int | None, metric("count", "Blocks of the grid", source=NCU)] = None
    waves_per_sm: Annotated[float | None, metric("ratio", "Grid over the blocks that fit at once", source=NCU)] = None
    next_step: Annotated[str | None, metric("text", "Smallest change that fits one more block", source=NCU)] = None


class CachesBlock(Block, frozen=True, kw_only=True):
    """How memory is accessed."""

    l1_hit_pct: Annotated[float | None, metric("%", "L1 sectors hit", better="higher", source=NCU)] = None
    l2_hit_pct: Annotated[float | None, metric("%", "L2 sectors hit", better="higher", source=NCU)] = None
    ld_sectors_per_request: Annotated[
        float | None, metric("sectors/request", "Sectors of a global load", better="lower", source=NCU)
    ] = None
    st_sectors_per_request: Annotated[
        float | None, metric("sectors/request", "Sectors of a global store", better="lower", source=NCU)
    ] = None
    ld_efficiency_pct: Annotated[float | None, metric("%", "Loaded bytes used", better="higher", source=NCU)] = None
    st_efficiency_pct: Annotated[float | None, metric("%", "Stored bytes used", better="higher", source=NCU)] = None
    bank_conflicts: Annotated[float | None, metric("count", "Shared memory conflicts", better="lower", source=NCU)] = (
        None
    )
    local_bytes: Annotated[float | None, metric("bytes", "Local memory traffic", better="lower", source=NCU)] = None


class Stall(Record, frozen=True, kw_only=True):
    """One reason for which warps wait."""

    reason: Annotated[str, metric("text", "Which reason", source=NCU)]
    cycles_per_instruction: Annotated[
        float | None, metric("cycles/instruction", "Cycles waited per issued instruction", better="lower", source=NCU)
    ] = None
    share_pct: Annotated[float | None, metric("%", "Share of all warp states", source=NCU)] = None


class StallsBlock(Block, frozen=True, kw_only=True):
    """Why warps wait. ``top`` leaves out ``selected`` and ``not_selected``."""

    top: Annotated[tuple[Stall, ...] | None, metric("record", "The largest reasons, largest first", source=NCU)] = None
    all: Annotated[tuple[Stall, ...] | None, metric("record", "Every warp state", source=NCU)] = None
    warp_cycles_per_instruction: Annotated[
        float | None, metric("cycles/instruction", "Warp cycles per issued instruction", better="lower", source=NCU)
    ] = None
    method: Annotated[str | None, metric("text", "Counters or samples", source=NCU)] = None


class Evidence(Record, frozen=True, kw_only=True):
    """One number behind a verdict; ``unit`` names its unit."""

    metric: Annotated[str, metric("text", "Which metric", source=NCU)]
    value: Annotated[float | None, metric("output", "Its value, in `unit`", source=NCU)] = None
    unit: Annotated[str, metric("text", "The unit of value and threshold", source=NCU)]
    threshold: Annotated[float | None, metric("output", "The border it was held against, in `unit`", source=NCU)] = None


class Advice(Record, frozen=True, kw_only=True):
    """One thing to try."""

    text: Annotated[str, metric("text", "What to do", source=NCU)]
    at_most_x: Annotated[float | None, metric("ratio", "Speedup that it cannot exceed", source=NCU)] = None


class BottleneckBlock(Block, frozen=True, kw_only=True):
    """What holds the kernel back, with the numbers behind the verdict."""

    family: Annotated[Family | None, metric("text", "The kind of bound", source=NCU)] = None
    limiter: Annotated[str | None, metric("text", "The unit or the cause", source=NCU)] = None
    evidence: Annotated[tuple[Evidence, ...] | None, metric("record", "The numbers behind it", source=NCU)] = None
    advice: Annotated[tuple[Advice, ...] | None, metric("record", "What to do about it", source=NCU)] = None
    margin_pct: Annotated[float | None, metric("%", "Distance to the nearest border", source=NCU)] = None
    near_border: Annotated[str | None, metric("text", "The runner-up where the border is near", source=NCU)] = None


class Check(Record, frozen=True, kw_only=True):
    """One check of the run."""

    name: Annotated[str, metric("text", "Which check", source=CHECKS)]
    severity: Annotated[Literal["fail", "advisory"], metric("text", "Whether it can fail the block", source=CHECKS)]
    passed: Annotated[bool | None, metric("bool", "Its outcome", better="higher", source=CHECKS)] = None
    detail: Annotated[str, metric("text", "What was found", source=CHECKS)] = ""


class IntegrityBlock(Block, frozen=True, kw_only=True):
    """Whether the kernel did the work it was timed for. Only checks of severity ``fail`` make ``passed`` false."""

    passed: Annotated[bool | None, metric("bool", "No check failed", better="higher", source=CHECKS)] = None
    checks: Annotated[tuple[Check, ...] | None, metric("record", "The checks", source=CHECKS)] = None
