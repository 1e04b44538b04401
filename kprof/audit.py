"""The audit: counters of one launch that contradict physics or each other.

What it finds is kept, shown with the reason, and is no evidence for anything. It holds each value against what the
hardware can do and against the others; ncu measures in several passes, and below `Limits.short_us` what different
passes saw of a kernel differs by nature: contradictions between passes are then told together, as one finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from kprof.any_board import beyond_any_board
from kprof.board import GpuSpec
from kprof.counter_profile import Finding
from kprof.counters.formulas import BYTES_PER_SECTOR
from kprof.counters.quantities import Quantities, table
from kprof.flop import TENSOR_RATES, count_flop
from kprof.roofline import clock_is_plausible, maximum_clock_hz, peak_at_clock, rate


@dataclass(frozen=True)
class Limits:
    """What is held to be impossible."""

    peak_pct: float = 105.0
    """Percent of a peak. Sustained percentages "can occasionally exceed 100 %" (Nsight Compute, Kernel Profiling
    Guide); none of 31 recorded launches on an H200 passes 99.8."""
    occupancy_points: float = 2.0
    """Points of achieved occupancy over theoretical. Recorded: never above it from 10 us up."""
    short_us: float = 10.0
    """Below it passes disagree: on an H200, kernels under 5 us gave sums of stalls of 0.57 to 1.12 times the warp
    latency, and SM clocks up to 8 % above the maximum."""
    hit_pct: float = 100.01
    """A hit rate, rounding allowed for."""
    little_sectors: float = 16384.0
    """Sectors below which a hit rate says nothing of the kernel: launching alone costs about 5,000 in L2 (measured on
    an H200: an add of 64 floats had 4,825), and rates of 112 and 116 % were seen on 5,600."""
    tensor_pct: float = 1.0
    """Percent of time in which the tensor pipe multiplies matrices, above which there must be operations."""
    issue_ratio: float = 1.05
    """Instructions a cycle and scheduler: each issues one (CUDA C++ Programming Guide, SIMT architecture)."""
    states_ratio: float = 1.05
    """Cycles of all warp states over the warp cycles of an instruction, which they are parts of. Recorded: within 3 %
    from 36 us up."""
    sector_bytes: float = 32.01
    """Of a sector, which has 32."""
    sectors: float = 32.5
    """Sectors of a request of global memory: a warp has 32 threads, and what one of them accesses is aligned and in one
    sector."""
    threads: float = 32.01
    """Threads of an instruction: a warp has 32."""
    active_ratio: float = 1.02
    """Active over elapsed cycles. Recorded: at most 1.00 from 10 us up."""
    inherited_share: float = 0.05
    """Share of the time from which a launch's findings are those of all launches together: what is wrong with less
    moves a total by less than `peak_pct` lets pass."""


LIMITS: Final = Limits()
SHORT_KERNEL: Final = "short_kernel_multi_pass"
SUM_MISMATCH: Final = "stall_sum_mismatch"
LITTLE_TRAFFIC: Final = "hit_rate_of_little_traffic"
_HIT_RATES: Final = frozenset({"l1_hit_rate_pct", "l2_hit_rate_pct"})
_FLOP_COUNTERS: Final = {
    "fp32": ("fp32_add", "fp32_mul", "fp32_fma", "fp32_add2", "fp32_mul2", "fp32_fma2"),
    "fp16_vector": ("fp16_add", "fp16_mul", "fp16_fma"),
    "fp64": ("fp64_add", "fp64_mul", "fp64_fma"),
}
_OTHER_ACCUMULATOR: Final = {"fp16": "fp16_fp16_accumulate", "fp8": "fp8_fp16_accumulate"}
"""Counters do not tell accumulators apart here, and some boards are twice as fast with a narrow one."""


@dataclass(frozen=True)
class _Broken:
    """A contradiction; ``across``: between counters that need not be of one pass."""

    code: str
    message: str
    quantities: tuple[str, ...]
    across: bool = False


def audit(quantities: Quantities, spec: GpuSpec | None, limits: Limits = LIMITS) -> tuple[Finding, ...]:
    """What cannot be true of a launch, or of several as one.

    Args:
        quantities: as resolved from the report.
        spec: the board; None: what needs its peaks is held against the report's, and against what no board reaches.
        limits: what counts as impossible.
    """
    broken = list(_all_broken(quantities, spec, limits))
    told = {name for one in broken for name in one.quantities}
    beyond = (one for one in beyond_any_board(quantities, _rates(quantities, spec)) if told.isdisjoint(one.quantities))
    across = [one for one in broken if one.across] if is_short(quantities, limits) else []
    findings = [Finding(one.code, one.message, one.quantities) for one in broken if one not in across]
    if across:
        findings.append(_of_short(across, quantities, limits))
    return (*findings, *beyond)


def inherited(launches: Sequence[tuple[Quantities, Sequence[Finding]]], limits: Limits = LIMITS) -> tuple[Finding, ...]:
    """The findings on single launches that hold for their sums and means too, one a code.

    A launch of little time hands none on, nor does one whose counters merely disagree because it was short.

    Args:
        launches: quantities and findings of each.
        limits: from which share of the time on.
    """
    whole = sum(quantities.duration_ns or 0.0 for quantities, _ in launches)
    found: dict[str, list[Finding]] = {}
    for quantities, findings in launches:
        if whole and (quantities.duration_ns or 0.0) >= whole * limits.inherited_share:
            for finding in findings:
                if finding.code not in (SHORT_KERNEL, LITTLE_TRAFFIC):
                    found.setdefault(finding.code, []).append(finding)
    return tuple(_together(code, alike, len(launches)) for code, alike in found.items())


def _together(code: str, alike: Sequence[Finding], launches: int) -> Finding:
    names = tuple(dict.fromkeys(name for finding in alike for name in finding.quantities))
    return Finding(code, f"in {len(alike)} of {launches} launches: {alike[0].message}", names)


def is_short(q: Quantities, limits: Limits = LIMITS) -> bool:
    """Launches took less than `Limits.short_us` each, on average; not known is not short."""
    return q.duration_ns is not None and q.duration_ns / q.launches < limits.short_us * 1e3


def _of_short(across: Sequence[_Broken], q: Quantities, limits: Limits) -> Finding:
    took = (q.duration_ns or 0.0) / q.launches / 1e3
    told = "; ".join(one.message for one in across)
    names = tuple(dict.fromkeys(name for one in across for name in one.quantities))
    message = f"counters of different passes disagree, as they do below {limits.short_us:g} us ({took:.3g} us): {told}"
    return Finding(SHORT_KERNEL, message, names)


def _all_broken(q: Quantities, spec: GpuSpec | None, limits: Limits) -> Iterator[_Broken]:
    yield from _out_of_range(q, limits)
    yield from _hit_rates(q, limits)
    yield from _warps(q, limits)
    yield from _cycles(q, spec, limits)
    yield from _dram(q, spec, limits)
    yield from _flop(q, spec, limits)


@cache
def _shares() -> frozenset[str]:
    """Quantities that are percent of a peak."""
    return frozenset(name for name, one in table().items() if one.unit == "%" and name not in _HIT_RATES)


def _out_of_range(q: Quantities, limits: Limits) -> Iterator[_Broken]:
    shares = _shares()
    for name in table():
        value = getattr(q, name)
        if value is None:
            continue
        if value < 0:
            yield _Broken("negative_value", f"{name} is {value:g}, below 0", (name,))
        elif value > limits.peak_pct and name in shares:
            yield _Broken("over_peak", f"{name} is {value:.4g} %, over {limits.peak_pct:g} % of its peak", (name,))
    for name in ("tensor_flop", "stall_cycles", "stall_samples"):
        least = min(getattr(q, name).values(), default=0.0)
        if least < 0:
            yield _Broken("negative_value", f"{name} holds {least:g}, below 0", (name,))


def _hit_rates(q: Quantities, limits: Limits) -> Iterator[_Broken]:
    l1_sectors = q.l1_sectors if q.l1_sectors is not None else _over(q.l1_bytes, BYTES_PER_SECTOR)
    levels = (
        ("l2", q.l2_hit_rate_pct, q.l2_hit_sectors, q.l2_sectors),
        ("l1", q.l1_hit_rate_pct, q.l1_hit_sectors, l1_sectors),
    )
    for level, stated, hits, sectors in levels:
        counted = None if hits is None or not sectors else hits / sectors * 100.0
        found = max((rate for rate in (stated, counted) if rate is not None), default=0.0)
        if found <= limits.hit_pct:
            continue
        names = (f"{level}_hit_rate_pct", f"{level}_hit_sectors")
        message = f"{level.upper()} hit rate is {found:.4g} %"
        if sectors is not None and sectors < limits.little_sectors * q.launches:
            why = f"{message} of {sectors:.0f} sectors: most of so little traffic is not the kernel's own"
            yield _Broken(LITTLE_TRAFFIC, why, names)
        else:
            of = "" if sectors is None else f" of {sectors:.4g} sectors"
            yield _Broken("hit_rate_over_100", f"{message}{of}, over 100 %", names, across=True)


def _warps(q: Quantities, limits: Limits) -> Iterator[_Broken]:
    achieved, possible = q.occupancy_pct, q.theoretical_occupancy_pct
    if achieved is not None and possible is not None and achieved > possible + limits.occupancy_points:
        message = f"achieved occupancy is {achieved:.4g} %, over the {possible:.4g} % that fit"
        yield _Broken("occupancy_over_theoretical", message, ("occupancy_pct",), across=True)
    for name in ("load_bytes_per_sector", "store_bytes_per_sector"):
        used = getattr(q, name)
        if used is not None and used > limits.sector_bytes:
            yield _Broken("bytes_over_sector", f"{name} is {used:.4g}; a sector has 32", (name,))
    for kind in ("load", "store"):
        names = tuple(f"{kind}_{name}" for name in ("sectors_per_request", "sectors", "requests"))
        stated, sectors, requests = (getattr(q, name) for name in names)
        counted = sectors / requests if sectors is not None and requests else None
        most = max((one for one in (stated, counted) if one is not None), default=0.0)
        if most > limits.sectors:
            message = f"a {kind} request took {most:.4g} sectors; a warp has 32 threads"
            yield _Broken("sectors_over_request", message, names)
    if q.issue_active_ratio is not None and q.issue_active_ratio > limits.issue_ratio:
        message = f"a scheduler issued {q.issue_active_ratio:.4g} instructions a cycle, of 1 at most"
        yield _Broken("issue_over_one", message, ("issue_active_ratio",))
    states, latency = sum(q.stall_cycles.values()), q.warp_cycles_per_instruction
    if latency is not None and states > latency * limits.states_ratio:
        message = f"warp states make {states:.4g} cycles an instruction, of {latency:.4g} that there were"
        yield _Broken(SUM_MISMATCH, message, ("stall_cycles",), across=True)
    for name in ("threads_per_instruction", "active_threads_per_instruction"):
        threads = getattr(q, name)
        if threads is not None and threads > limits.threads:
            yield _Broken("threads_over_warp", f"{name} is {threads:.4g}; a warp has 32", (name,))


def _cycles(q: Quantities, spec: GpuSpec | None, limits: Limits) -> Iterator[_Broken]:
    active, elapsed = q.sm_cycles_active_avg, q.sm_cycles_elapsed
    if active is not None and elapsed is not None and active > elapsed * limits.active_ratio:
        message = f"SMs were active in {active:.6g} of {elapsed:.6g} cycles"
        yield _Broken("active_over_elapsed", message, ("sm_cycles_active_avg", "sm_cycles_elapsed"), across=True)
    if not clock_is_plausible(q, spec):
        clock, maximum = (q.sm_clock_hz or 0.0) / 1e6, (maximum_clock_hz(q, spec) or 0.0) / 1e6
        message = f"SM clock reads {clock:.0f} MHz of {maximum:.0f} at most"
        yield _Broken("implausible_clock", message, ("sm_clock_hz",), across=True)


def _dram(q: Quantities, spec: GpuSpec | None, limits: Limits) -> Iterator[_Broken]:
    """Held against the specified rate, or the pins' where that is more; of an unknown board, against the report's peak.

    That peak is held against the traffic too: less than what moved it cannot be.
    """
    own, moved = q.dram_peak_bytes_per_s, rate(q.dram_bytes, q)
    over = limits.peak_pct / 100.0
    if moved is None:
        return
    if spec is not None:
        stated = spec.memory.bandwidth_gbs
        most: float | None = max(stated * over, spec.memory.pin_bandwidth_gbs or 0.0) * 1e9
    else:
        stated, most = (own or 0.0) / 1e9, None if own is None else own * over
    if most is not None and moved > most:
        message = f"{moved / 1e9:.5g} GB/s of DRAM traffic, of {stated:.5g} that the memory can do"
        yield _Broken("dram_over_peak", message, ("dram_bytes", "dram_read_bytes", "dram_write_bytes"), across=True)
    elif own is not None and moved > own * over:
        message = f"ncu's DRAM peak is {own / 1e9:.5g} GB/s, and {moved / 1e9:.5g} moved"
        yield _Broken("peak_below_traffic", message, ("dram_peak_bytes_per_s",), across=True)


def _flop(q: Quantities, spec: GpuSpec | None, limits: Limits) -> Iterator[_Broken]:
    """Held against peaks at the board's maximum clock: Hopper may pass the tensor peaks that are stated below it."""
    if q.tensor_flop and not any(q.tensor_flop.values()):
        busy = max(q.matrix_pct or 0.0, q.tensor_fp64_pct or 0.0, q.tensor_int_pct or 0.0)
        if busy > limits.tensor_pct:
            message = f"no tensor operation was counted, but the tensor pipe was busy {busy:.4g} % of the time"
            yield _Broken("tensor_flop_missing", message, ("tensor_flop",))
    clock = maximum_clock_hz(q, spec)
    for of, reached, names in _rates(q, spec):
        peak = _highest_peak(of, q, spec, clock)
        if peak is not None and reached > peak * limits.peak_pct / 100.0:
            twice = reached <= 2 * peak * limits.peak_pct / 100.0
            possible = twice and names == ("tensor_flop",) and spec is not None and spec.sparse is not None
            sparse = " (2:4 sparsity could explain it)" if possible else ""
            message = f"{reached / 1e12:.5g} TFLOP/s of {of}, over the dense peak at the highest clock, "
            yield _Broken("flop_over_peak", f"{message}{peak / 1e12:.5g}{sparse}", names, across=True)


def _rates(q: Quantities, spec: GpuSpec | None) -> Iterator[tuple[str, float, tuple[str, ...]]]:
    """Type of the peak, FLOP/s or integer operations a second, and the quantities they were counted in."""
    flop = count_flop(q, spec.compute_capability if spec else None)
    vector = (("fp32", flop.fp32), ("fp16_vector", flop.fp16), ("fp64", flop.fp64))
    tensor = [(TENSOR_RATES.get(name, name), count) for name, count in (flop.tensor or {}).items()]
    for of, count in (*vector, *tensor):
        reached = rate(count, q)
        if reached:
            yield of, reached, _FLOP_COUNTERS.get(of, ("tensor_flop",))


def _highest_peak(of: str, q: Quantities, spec: GpuSpec | None, clock: float | None) -> float | None:
    peaks = [peak_at_clock(name, q, spec, clock) for name in (of, _OTHER_ACCUMULATOR.get(of, of))]
    return max((peak for peak in peaks if peak is not None), default=None)


def _over(value: float | None, divisor: float) -> float | None:
    return None if value is None else value / divisor
