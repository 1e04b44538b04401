"""The records of the block ``roofline``."""

from __future__ import annotations

from typing import Annotated, Final

from kprof.blocks.base import Block
from kprof.blocks.profiled import SOURCE as NCU
from kprof.evidence import Record, Side
from kprof.metrics import metric

ROOFS: Final = "the board's spec, or the peaks in the report"
NCU_AND_ROOFS: Final = f"{NCU} and the roofs"
_OUTSIDE: Final = "FLOP outside the tensor cores over time"


BESIDE: Final = ", "
"""Stands in the name of a roof beside the chosen one, before where it comes from: ``DRAM, measured``."""


class Ceiling(Record, frozen=True, kw_only=True):
    """One roof of the plot: a bandwidth or a compute peak, the other null."""

    name: Annotated[str, metric("text", "Which roof", source=ROOFS)]
    level: Annotated[str, metric("text", "dram, l2, l1 or compute", source=ROOFS)]
    source: Annotated[str, metric("text", "spec, counters, or spec with a measured value", source=ROOFS)]
    bandwidth_gbs: Annotated[float | None, metric("GB/s", "Bandwidth of a memory roof", source=ROOFS)] = None
    peak_tflops: Annotated[float | None, metric("TFLOP/s", "Dense peak of a compute roof", source=ROOFS)] = None

    @property
    def is_beside(self) -> bool:
        """Percentages are of another roof of that kind: this one is shown beside it."""
        return BESIDE in self.name


class Point(Record, frozen=True, kw_only=True):
    """One kernel on the plot, at one memory level."""

    name: Annotated[str, metric("text", "Which kernel; the level where there is but one", source=NCU)]
    level: Annotated[str, metric("text", "Memory level that bytes are counted at", source=NCU)]
    arithmetic_intensity: Annotated[float | None, metric("FLOP/byte", "FLOP over bytes there", source=NCU)] = None
    achieved_tflops: Annotated[float | None, metric("TFLOP/s", "FLOP over time", source=NCU)] = None
    bandwidth_gbs: Annotated[float | None, metric("GB/s", "Bytes there over time", source=NCU)] = None
    time_share: Annotated[
        float | None, metric("ratio", "Share of the time of all kernels of its side, 0 to 1", source=NCU)
    ] = None
    side: Annotated[
        Side | None, metric("text", "Whose call launched it; null: the report does not say", source=NCU)
    ] = None
    launches: Annotated[int, metric("count", "Launches that the point stands for", source=NCU)] = 1
    number: Annotated[int, metric("index", "Number of the kernel among those of the plot, from 1", source=NCU)] = 1


class Ridge(Record, frozen=True, kw_only=True):
    """Where two roofs of the plot meet: left of it the bandwidth is the lower one, right of it the peak."""

    bandwidth: Annotated[str, metric("text", "Name of the memory roof", source=ROOFS)]
    peak: Annotated[str, metric("text", "Name of the compute roof", source=ROOFS)]
    arithmetic_intensity: Annotated[float, metric("FLOP/byte", "Peak over bandwidth", source=ROOFS)]
    peak_tflops: Annotated[float, metric("TFLOP/s", "The peak", source=ROOFS)]


class RooflineBlock(Block, frozen=True, kw_only=True):
    """Rates reached, the roofs above them, and how near they are. Peaks are dense, of this very board."""

    profiled_us: Annotated[
        float | None,
        metric("us", "Time under ncu that the rates here are over, not the headline's", better="lower", source=NCU),
    ] = None
    dram_bytes: Annotated[float | None, metric("bytes", "DRAM bytes moved", better="lower", source=NCU)] = None
    l2_bytes: Annotated[float | None, metric("bytes", "L2 bytes moved", better="lower", source=NCU)] = None
    dram_bandwidth_gbs: Annotated[float | None, metric("GB/s", "DRAM bytes over time", better="higher", source=NCU)] = (
        None
    )
    dram_read_gbs: Annotated[float | None, metric("GB/s", "DRAM bytes read over time", source=NCU)] = None
    dram_write_gbs: Annotated[float | None, metric("GB/s", "DRAM bytes written over time", source=NCU)] = None
    dram_util_pct: Annotated[
        float | None, metric("%", "DRAM bandwidth over its peak", better="higher", source=NCU_AND_ROOFS)
    ] = None
    dram_busy_pct: Annotated[
        float | None, metric("%", "DRAM busy, against the counter's own peak", better="higher", source=NCU)
    ] = None
    l2_bandwidth_gbs: Annotated[float | None, metric("GB/s", "L2 bytes over time", source=NCU)] = None
    l1_bandwidth_gbs: Annotated[float | None, metric("GB/s", "L1 bytes over time", source=NCU)] = None
    total_flop: Annotated[float | None, metric("FLOP", "FLOP of all types, integers left out", source=NCU)] = None
    tensor_flop: Annotated[
        dict[str, float] | None,
        metric("FLOP", "Tensor FLOP by element type (integers: operations), types with none left out", source=NCU),
    ] = None
    fp32_tflops: Annotated[float | None, metric("TFLOP/s", f"FP32: {_OUTSIDE}", better="higher", source=NCU)] = None
    fp32_util_pct: Annotated[
        float | None, metric("%", "FP32 rate over its peak", better="higher", source=NCU_AND_ROOFS)
    ] = None
    fp32_util_at_clock_pct: Annotated[
        float | None, metric("%", "FP32 rate over its peak at sm_clock_mhz", better="higher", source=NCU_AND_ROOFS)
    ] = None
    fp16_tflops: Annotated[float | None, metric("TFLOP/s", f"FP16: {_OUTSIDE}", source=NCU)] = None
    fp64_tflops: Annotated[float | None, metric("TFLOP/s", f"FP64: {_OUTSIDE}", source=NCU)] = None
    tensor_tflops: Annotated[
        dict[str, float | None] | None,
        metric(
            "TFLOP/s",
            "Tensor rate by element type, types with none left out; integers are 1e12 operations a second and no FLOP",
            better="higher",
            source=NCU,
        ),
    ] = None
    tensor_util_pct: Annotated[
        dict[str, float | None] | None,
        metric("%", "Tensor rate over the dense peak of its type", better="higher", source=NCU_AND_ROOFS),
    ] = None
    tensor_util_at_clock_pct: Annotated[
        dict[str, float | None] | None,
        metric("%", "Tensor rate over that peak at sm_clock_mhz", better="higher", source=NCU_AND_ROOFS),
    ] = None
    arithmetic_intensity: Annotated[float | None, metric("FLOP/byte", "FLOP over DRAM bytes", source=NCU)] = None
    l2_arithmetic_intensity: Annotated[float | None, metric("FLOP/byte", "FLOP over L2 bytes", source=NCU)] = None
    l1_arithmetic_intensity: Annotated[float | None, metric("FLOP/byte", "FLOP over L1 bytes", source=NCU)] = None
    roof_type: Annotated[
        str | None,
        metric("text", "The type with most time at its peak; fp32 where FLOP are 0 or not known", source=NCU_AND_ROOFS),
    ] = None
    ridge_point: Annotated[
        float | None, metric("FLOP/byte", "Peak rate of roof_type over DRAM bandwidth", source=ROOFS)
    ] = None
    attainable_tflops: Annotated[
        float | None,
        metric(
            "TFLOP/s",
            "Smaller of intensity times bandwidth and the peak of the mix of types",
            source=NCU_AND_ROOFS,
        ),
    ] = None
    roofline_pct: Annotated[
        float | None, metric("%", "FLOP rate over attainable", better="higher", source=NCU_AND_ROOFS)
    ] = None
    peak_bandwidth_gbs: Annotated[float | None, metric("GB/s", "DRAM peak", source=ROOFS)] = None
    peak_fp32_tflops: Annotated[float | None, metric("TFLOP/s", "FP32 peak", source=ROOFS)] = None
    peak_fp16_tflops: Annotated[float | None, metric("TFLOP/s", "FP16 tensor peak, dense", source=ROOFS)] = None
    sm_clock_mhz: Annotated[float | None, metric("MHz", "SM clock while profiled", source=NCU)] = None
    ceilings: Annotated[tuple[Ceiling, ...] | None, metric("record", "The roofs of the plot", source=ROOFS)] = None
    ridges: Annotated[tuple[Ridge, ...] | None, metric("record", "Where those roofs meet", source=ROOFS)] = None
    points: Annotated[tuple[Point, ...] | None, metric("record", "The kernels on the plot", source=NCU)] = None
