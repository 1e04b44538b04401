"""What a GPU board is: dense peaks, clocks, memory and the limits of an SM.

Each rate names its FLOP per clock and SM and the clock it was stated at, so that a roof can be had at another clock
(Hopper states its tensor peaks at 1830 MHz and reaches 1980). Peaks are dense: figures with sparsity stand apart.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from kprof.evidence import Record

Confidence = Literal["A", "B", "C", "D"]
"""A: NVIDIA's own header, guide or whitepaper. B: two sources, or one and the identity. C: one source. D: inferred."""

BandwidthKind = Literal["specified", "measured"]

RateType = Literal[
    "fp64", "fp64_tensor", "fp32", "fp16_vector", "tf32", "bf16", "fp16", "fp16_fp16_accumulate",
    "fp8", "fp8_fp16_accumulate", "int8", "fp4",
]  # fmt: skip
"""Types and pipes that have a peak of their own. ``fp64``, ``fp32`` and ``fp16_vector`` run outside the tensor cores;
the tensor types accumulate in FP32 (``int8`` in INT32) unless the name says otherwise."""

# Upper bounds lie beyond any board: they catch FLOP/s given as TFLOP/s, byte/s as GB/s and Hz as MHz.
Count = Annotated[int, msgspec.Meta(gt=0, lt=2**53)]
Whole = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
Text = Annotated[str, msgspec.Meta(min_length=1)]
Tflops = Annotated[float, msgspec.Meta(gt=0, lt=1e6)]
Gbs = Annotated[float, msgspec.Meta(gt=0, lt=1e5)]
Mhz = Annotated[float, msgspec.Meta(gt=0, lt=1e5)]
GbitPerS = Annotated[float, msgspec.Meta(gt=0, lt=1e5)]


class PeakRate(Record, frozen=True, kw_only=True):
    """One dense peak as its source states it."""

    tflops: Tflops
    """1e12 operations a second, dense; an FMA counts two. Integer operations for ``int8``."""
    flop_per_clk_per_sm: Count
    clock_mhz: Mhz
    """The SM clock at which the peak is stated."""
    source: Text
    note: str | None = None

    @property
    def flop_per_s(self) -> float:
        return self.tflops * 1e12


class Peaks(Record, frozen=True, kw_only=True):
    """Dense peaks, one field a `RateType`; None: the board has no such rate, or no source for it."""

    fp32: PeakRate
    fp64: PeakRate | None = None
    fp64_tensor: PeakRate | None = None
    fp16_vector: PeakRate | None = None
    """FP16 outside the tensor cores (HFMA2)."""
    tf32: PeakRate | None = None
    bf16: PeakRate | None = None
    fp16: PeakRate | None = None
    fp16_fp16_accumulate: PeakRate | None = None
    fp8: PeakRate | None = None
    fp8_fp16_accumulate: PeakRate | None = None
    int8: PeakRate | None = None
    fp4: PeakRate | None = None


class SparsePeaks(Record, frozen=True, kw_only=True):
    """Tensor peaks with 2:4 structured sparsity, in 1e12 operations a second: never a roof, kept to tell them apart."""

    source: Text
    tf32: Tflops | None = None
    bf16: Tflops | None = None
    fp16: Tflops | None = None
    fp16_fp16_accumulate: Tflops | None = None
    fp8: Tflops | None = None
    fp8_fp16_accumulate: Tflops | None = None
    int8: Tflops | None = None
    fp4: Tflops | None = None


class DenseRates(Record, frozen=True, kw_only=True):
    """The most FLOP per clock and SM that an architecture does, dense; a board may do less, never more."""

    fp32: Count
    fp64: Count | None = None
    fp64_tensor: Count | None = None
    fp16_vector: Count | None = None
    tf32: Count | None = None
    bf16: Count | None = None
    fp16: Count | None = None
    fp16_fp16_accumulate: Count | None = None
    fp8: Count | None = None
    fp8_fp16_accumulate: Count | None = None
    int8: Count | None = None
    fp4: Count | None = None


class SmFacts(Record, frozen=True, kw_only=True):
    """What one SM holds; the same for every board of a compute capability."""

    max_warps: Count
    max_threads: Count
    max_blocks: Count
    max_threads_per_block: Count
    warp_size: Count
    sub_partitions: Count
    """Each has one warp scheduler, which issues one instruction a clock."""
    registers: Count
    """32-bit registers of an SM."""
    max_registers_per_block: Count
    max_registers_per_thread: Count
    register_granularity: Count
    """Registers are given out in this many, a warp."""
    shared_bytes: Count
    """Shared memory of an SM at its largest carveout."""
    shared_bytes_per_block: Count
    """What a block may have without asking for more."""
    shared_bytes_per_block_optin: Count
    """What a block may have when the kernel opts in."""
    shared_carveouts_bytes: tuple[Whole, ...]
    """Sizes of shared memory that an SM can be set to, ascending."""
    shared_reserved_bytes_per_block: Whole
    """What the driver keeps of a block's shared memory."""
    shared_granularity_bytes: Count
    barrier_pool_factor: Count
    """Named barriers of an SM, as a multiple of ``max_blocks`` blocks' worth."""
    l1_bytes_per_clk: Count
    """L1 and shared memory together, a clock and SM."""
    sfu_per_clk: Count
    """Special functions (exp, log, sqrt, sin) a clock and SM."""
    int32_add_per_clk: Count
    load_store_per_clk: Count
    """Threads whose address the load/store units take, a clock and SM."""
    dense_flop_per_clk: DenseRates | None = None
    """None: not checked against."""
    source: Text
    confidence: Confidence
    note: str | None = None


class MemorySpec(Record, frozen=True, kw_only=True):
    """Device memory. The specified bandwidth and the pins' rate differ on some boards: both are kept, by name."""

    bytes: Count
    """Nominal capacity; drivers report up to 12 % less."""
    type: Text
    bandwidth_gbs: Gbs
    """The specified peak, 1e9 byte/s: the default roof."""
    pin_gbit_per_s: GbitPerS | None = None
    """Data rate of one pin: twice the memory clock for HBM."""
    bus_bits: Count | None = None
    pin_bandwidth_gbs: Gbs | None = None
    """``pin_gbit_per_s * bus_bits / 8``."""
    source: Text
    note: str | None = None

    @property
    def bandwidth_bytes_per_s(self) -> float:
        return self.bandwidth_gbs * 1e9


class L2Bandwidth(Record, frozen=True, kw_only=True):
    """Read bandwidth of the L2 cache."""

    read_gbs: Gbs
    kind: BandwidthKind
    source: Text


class L2Spec(Record, frozen=True, kw_only=True):
    """The L2 cache."""

    bytes: Count | None
    """None: to be asked of the device, as ``note`` says."""
    bandwidth: L2Bandwidth | None = None
    note: str | None = None


class AchievableBandwidth(Record, frozen=True, kw_only=True):
    """What streaming programs reached on such a board, 1e9 byte/s: below the peak, and different by the mix."""

    read_gbs: Gbs | None = None
    copy_gbs: Gbs | None = None
    triad_gbs: Gbs | None = None
    write_gbs: Gbs | None = None
    source: Text


class GpuSpec(Record, frozen=True, kw_only=True):
    """One board, exactly: variants with other memory or other clocks are other specs."""

    spec_version: Literal[1]
    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    """What ``--gpu`` takes; the stem of the file of a board that travels with kprof."""
    title: Text
    device_names: tuple[Text, ...] = ()
    """Names that the driver gives this board. Boards may share a name: memory and SM count then decide."""
    compute_capability: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,2}\.[0-9]$")]
    sm_count: Count
    max_sm_clock_mhz: Mhz
    """The highest SM clock: a reading above it is an error."""
    peaks: Peaks
    sparse: SparsePeaks | None = None
    memory: MemorySpec
    l2: L2Spec
    achievable: AchievableBandwidth | None = None
    sm: SmFacts
    confidence: Confidence
    note: str | None = None

    @property
    def tensor_clock_mhz(self) -> float | None:
        """The clock at which the FP16 tensor peak is stated: below the maximum on Hopper. None: no such peak."""
        return None if self.peaks.fp16 is None else self.peaks.fp16.clock_mhz

    def peak(self, rate: RateType) -> PeakRate | None:
        """The dense peak of one type, where the board has it."""
        found: PeakRate | None = getattr(self.peaks, rate)
        return found

    def rates(self) -> dict[RateType, PeakRate]:
        """The dense peaks that the board has, in the order of `RATE_TYPES`."""
        return {rate: peak for rate in RATE_TYPES if (peak := self.peak(rate)) is not None}

    def peak_flop_per_s(self, rate: RateType, sm_clock_mhz: float | None = None) -> float | None:
        """The roof of one type, FLOP/s, or None where the board has none.

        Args:
            rate: which type and pipe.
            sm_clock_mhz: the clock observed; the roof is then SMs x FLOP/clk/SM x clock. None: the stated peak.
        """
        peak = self.peak(rate)
        if peak is None:
            return None
        if sm_clock_mhz is None:
            return peak.flop_per_s
        return self.sm_count * peak.flop_per_clk_per_sm * sm_clock_mhz * 1e6

    def ridge_point(self, rate: RateType) -> float | None:
        """FLOP/byte at which the stated peak meets the specified DRAM bandwidth; None: no such peak."""
        peak = self.peak(rate)
        return None if peak is None else peak.flop_per_s / self.memory.bandwidth_bytes_per_s

    def ridge_points(self) -> dict[RateType, float]:
        """`ridge_point` of every type that the board has a peak of."""
        return {rate: peak.flop_per_s / self.memory.bandwidth_bytes_per_s for rate, peak in self.rates().items()}


RATE_TYPES: Final[tuple[RateType, ...]] = (
    "fp64", "fp64_tensor", "fp32", "fp16_vector", "tf32", "bf16", "fp16", "fp16_fp16_accumulate",
    "fp8", "fp8_fp16_accumulate", "int8", "fp4",
)  # fmt: skip
TENSOR_TYPES: Final[tuple[RateType, ...]] = (
    "fp64_tensor", "tf32", "bf16", "fp16", "fp16_fp16_accumulate", "fp8", "fp8_fp16_accumulate", "int8", "fp4",
)  # fmt: skip
