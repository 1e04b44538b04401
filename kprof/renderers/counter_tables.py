"""The part of the summary that comes from hardware counters: the bound, how near the peaks, occupancy, stalls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kprof.blocks.base import Block
from kprof.blocks.bottleneck import BottleneckBlock, Evidence
from kprof.blocks.kernels import KernelLaunch
from kprof.blocks.roofline_records import RooflineBlock
from kprof.blocks.stalls import StallsBlock
from kprof.renderers import quantities
from kprof.renderers.layout import LABEL_WIDTH, Colour, Style
from kprof.report import Blocks

_MOST_EVIDENCE: Final = 3
_MOST_ADVICE: Final = 2
_MOST_STALLS: Final = 3
_MOST_KERNELS: Final = 6
_MOST_IMPORTED: Final = 30
_OF_PEAK: Final = ".pct_of_peak_sustained_elapsed"
_SAID_ELSEWHERE: Final = frozenset({"imported_report", "no_reference", "not_requested", "of_the_whole_task"})
"""Codes of what nobody asked for: worth no row."""
_LEAST_PERCENT: Final = 0.01
_KERNEL_COLUMNS: Final = 54
"""Room that the table of kernels needs beside the name."""
Tell = Callable[[float], str]


def bound_lines(block: BottleneckBlock, style: Style) -> list[str]:
    """What holds the kernel back, why, and what could be gained, as a part of the verdict."""
    if block.family is None:
        return []
    label = block.family if block.limiter is None else f"{block.family}: {block.limiter.replace('_', ' ')}"
    whose = "" if block.kernel is None else f" ({block.kernel})"
    if block.kernel is not None and block.time_share_pct is not None and block.time_share_pct < 100:
        whose = f" ({block.kernel}; {_percent(block.time_share_pct)} of the kernels' time)"
    near = f", near {block.near_border}" if block.near_border else ""
    doubted = block.family == "unknown" or block.status == "suspect"
    colour: Colour = "yellow" if doubted else "bold"
    lines = style.labelled("BOUND?" if doubted else "BOUND", style.clean(f"{label}{near}{whose}"), colour)
    indent = " " * LABEL_WIDTH
    for one in (block.evidence or ())[:_MOST_EVIDENCE]:
        lines += style.wrapped(_evidence(one), indent=indent)
    for step in (block.advice or ())[:_MOST_ADVICE]:
        gain = "" if step.at_most_x is None else f" (at most {quantities.factor(step.at_most_x)})"
        lines += style.wrapped(f"{step.text}{gain}", indent=f"{indent}  ", first=f"{indent}> ")
    return lines


def _evidence(one: Evidence) -> str:
    """``sm__inst_issued: 81.67 % of its peak (border 80)``."""
    name, of_peak = (one.metric.split(".")[0], " of its peak") if one.metric.endswith(_OF_PEAK) else (one.metric, "")
    border = "" if one.threshold is None else f" (border {quantities.significant(one.threshold, 3)})"
    value = "null" if one.value is None else f"{quantities.significant(one.value, 4)} {one.unit}"
    return f"{name}: {value}{of_peak}{border}"


def counter_lines(blocks: Blocks, style: Style, launches: int) -> list[str]:
    """How near the peaks, one fact a row; of ``launches`` together."""
    rows = [row for row in _rows(blocks) if row is not None]
    if not rows:
        return []
    of_what = "" if launches < 2 else f", {launches} launches together"
    lines = [
        style.heading(f"hardware counters{of_what}"),
        *style.table(["", "measured", "of, at, by"], rows, words=(0, 2)),
    ]
    if blocks.occupancy.next_step is not None and blocks.bottleneck.family in ("latency", "launch"):
        lines += style.wrapped(f"fuller SMs: {blocks.occupancy.next_step}", indent="  ", first="")
    return lines + _stall_lines(blocks.stalls, style)


def _rows(blocks: Blocks) -> Iterator[list[str] | None]:
    sol, roofline, occupancy, caches = blocks.sol, blocks.roofline, blocks.occupancy, blocks.caches
    yield _row(sol, "busiest unit", "score", _share, sol.score_unit)
    yield _row(sol, "floor of the task", "floor_us", quantities.duration, _of_floor(sol.task_score))
    yield _row(
        roofline, "DRAM", "dram_bandwidth_gbs", _gbs, _of(roofline.dram_util_pct, roofline.peak_bandwidth_gbs, _gbs)
    )
    yield from _rates(roofline)
    ridge = "" if roofline.ridge_point is None else f"ridge {quantities.significant(roofline.ridge_point, 3)}"
    yield _row(roofline, "FLOP/byte at DRAM", "arithmetic_intensity", _three, ridge)
    yield _row(sol, "issue slots", "issue_util_pct", _percent, "")
    yield _row(sol, "busiest math pipe", "dominant_pipe_pct", _percent, sol.dominant_pipe)
    yield _row(roofline, "SM clock", "sm_clock_mhz", _mhz, "")
    fits = "" if occupancy.theoretical_pct is None else f"{_percent(occupancy.theoretical_pct)} fit"
    limited = f", limited by {occupancy.limiter.replace('_', ' ')}" if occupancy.limiter else ""
    yield _row(occupancy, "occupancy", "achieved_pct", _percent, f"{fits}{limited}")
    yield _row(occupancy, "registers a thread", "registers_per_thread", _count, "")
    yield _row(caches, "L1 hits", "l1_hit_pct", _rate_of_hits, "")
    yield _row(caches, "L2 hits", "l2_hit_pct", _rate_of_hits, "")
    yield _row(caches, "sectors a load", "ld_sectors_per_request", _three, _used(caches.ld_efficiency_pct))
    yield _row(caches, "sectors a store", "st_sectors_per_request", _three, _used(caches.st_efficiency_pct))


def _row(block: Block, label: str, name: str, tell: Tell, note: str | None) -> list[str] | None:
    """A fact; None where the block was not tried or nobody asked for it."""
    value = getattr(block, name)
    if value is not None:
        return [label, tell(value), note or ""]
    code = block.reasons.get(name, "null")
    if block.status in ("unavailable", "skipped", "failed") or code in _SAID_ELSEWHERE:
        return None
    return [label, "-", code]


def _rates(roofline: RooflineBlock) -> Iterator[list[str] | None]:
    """The FLOP rates that are not 0; where all are, none."""
    if roofline.fp32_tflops is None or roofline.fp32_tflops > 0:
        yield _row(
            roofline, "FP32", "fp32_tflops", _tflops, _of(roofline.fp32_util_pct, roofline.peak_fp32_tflops, _tflops)
        )
    for name, rate in (("FP64", roofline.fp64_tflops), ("FP16 vector", roofline.fp16_tflops)):
        if rate:
            yield [name, _tflops(rate), ""]
    at_clock, utilised = roofline.tensor_util_at_clock_pct or {}, roofline.tensor_util_pct or {}
    for name, rate in (roofline.tensor_tflops or {}).items():
        share, now = utilised.get(name), at_clock.get(name)
        of_now = "" if now is None else f", {_percent(now)} at this clock"
        if rate is None:
            yield [f"{name.upper()} tensor", "-", roofline.reasons.get(f"tensor_tflops.{name}", "null")]
            continue
        yield [f"{name.upper()} tensor", _tflops(rate), "" if share is None else f"{_percent(share)} of spec{of_now}"]


def _of(share: float | None, peak: float | None, tell: Tell) -> str:
    return "" if share is None else f"{_percent(share)}" if peak is None else f"{_percent(share)} of {tell(peak)}"


def _of_floor(score: float | None) -> str:
    return "" if score is None else f"{_percent(score * 100)} of it reached"


def _used(efficiency: float | None) -> str:
    return "" if efficiency is None else f"{_percent(efficiency)} of their bytes used"


def _stall_lines(block: StallsBlock, style: Style) -> list[str]:
    told = [f"{one.reason} {_percent(one.share_pct)}" for one in (block.top or ())[:_MOST_STALLS] if one.share_pct]
    return style.wrapped(f"warps wait: {', '.join(told)}", indent="  ", first="") if told else []


def kernel_lines(kernels: tuple[KernelLaunch, ...], style: Style) -> list[str]:
    """One row a launch with counters, those with most time first."""
    counted = [one for one in kernels if one.bottleneck is not None]
    imported = all(one.side is None for one in counted)
    if len(counted) < 2:
        return []
    most = _MOST_IMPORTED if imported else _MOST_KERNELS
    longest = sorted(counted, key=lambda one: -(one.duration_us or 0.0))
    headers = ["kernel", "of", "time", "DRAM", "SM", "bound"]
    rows = [_kernel_row(one, style) for one in longest[:most]]
    kept = [index for index in range(len(headers)) if not (imported and index == 1)]
    lines = [style.heading(f"kernels with counters: {len(counted)}")]
    lines += style.table([headers[i] for i in kept], [[row[i] for i in kept] for row in rows])
    if len(counted) > most:
        lines.append(f"and {len(counted) - most} more in the report; --kernel NAME shows some alone")
    return lines


def _kernel_row(one: KernelLaunch, style: Style) -> list[str]:
    sol, bound = one.sol, one.bottleneck
    dram = sol.dram_util_pct if sol is not None else None
    compute = sol.compute_util_pct if sol is not None else None
    label = "" if bound is None else (bound.limiter or bound.family or "")
    return [
        style.shorten(style.clean(one.name), max(12, style.width - _KERNEL_COLUMNS)),
        one.side or "",
        "-" if one.duration_us is None else quantities.duration(one.duration_us),
        "-" if dram is None else _percent(dram),
        "-" if compute is None else _percent(compute),
        label,
    ]


def _percent(share: float) -> str:
    """A share of a peak; what is next to nothing is said to be that."""
    return f"< {_LEAST_PERCENT} %" if 0 < share < _LEAST_PERCENT else quantities.percent(share)


def _rate_of_hits(share: float) -> str:
    return _percent(share) if share <= 100 else f"{_percent(share)} (!)"


def _share(ratio: float) -> str:
    return _percent(ratio * 100)


def _gbs(rate: float) -> str:
    return f"{quantities.significant(rate, 4)} GB/s"


def _tflops(rate: float) -> str:
    return f"{quantities.significant(rate, 3)} TFLOP/s"


def _three(ratio: float) -> str:
    return quantities.significant(ratio, 3)


def _mhz(clock: float) -> str:
    return f"{clock:.0f} MHz"


def _count(number: float) -> str:
    return f"{number:.0f}"
