"""What hardware counters say of the call: how near the peaks, occupancy, caches, stalls; and what to try."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kprof.blocks.base import Block
from kprof.blocks.caches import CachesBlock
from kprof.blocks.occupancy import OccupancyBlock
from kprof.blocks.roofline_records import RooflineBlock
from kprof.blocks.sol_records import SolBlock
from kprof.blocks.stalls import StallsBlock
from kprof.renderers import quantities
from kprof.renderers.content import Section, absent
from kprof.renderers.quantities import share
from kprof.renderers.why import because
from kprof.report import Blocks, Report

_MOST_STALLS: Final = 3
_SAID_ELSEWHERE: Final = frozenset({"imported_report", "no_reference", "not_requested", "of_the_whole_task"})
"""Codes of what nobody asked for: worth no row."""
Tell = Callable[[float], str]


def counters_section(report: Report) -> Section | None:
    """One line a subject."""
    blocks = report.blocks
    subjects = (
        ("busiest", _busiest(blocks.sol)),
        ("DRAM", _dram(blocks.roofline)),
        ("FLOP", _rates(blocks.roofline)),
        ("occupancy", _occupancy(blocks.occupancy)),
        ("caches", _caches(blocks.caches)),
        ("warps wait", _stalls(blocks.stalls)),
        ("SM clock", _fact(blocks.roofline, "sm_clock_mhz", quantities.megahertz)),
    )
    facts = tuple((label, text) for label, parts in subjects if (text := "; ".join(filter(None, parts))))
    if not facts:
        return None
    launches = report.counters.combined_launches if report.counters is not None else 1
    of_what = "" if launches < 2 else f", {launches} launches together"
    return Section(title=f"hardware counters{of_what}{_of_roofs(blocks.roofline)}", facts=facts)


def _of_roofs(roofline: RooflineBlock) -> str:
    """Percentages are of the spec's roofs, unless this says otherwise."""
    first = next(iter(roofline.ceilings or ()), None)
    return ", of measured roofs" if first is not None and first.source == "measured" else ""


def _fact(block: Block, name: str, tell: Tell, before: str = "", after: str = "") -> Iterator[str]:
    """A value with the words round it; the reason where it has none; nothing where nobody asked for it."""
    value = getattr(block, name)
    if value is not None:
        yield f"{before}{tell(value)}{after}"
        return
    code = absent(block, name)
    # What the whole block lacks, though some of it is there, is said with the blocks that have nothing.
    of_all = block.reason.code if block.status == "ok" and block.reason is not None else ""
    if block.status not in ("unavailable", "skipped", "failed") and code not in (*_SAID_ELSEWHERE, of_all):
        yield f"{before or f'{name}: '}not known, {because(code, block)}"


def _busiest(sol: SolBlock) -> Iterator[str]:
    yield from _fact(sol, "score", _ratio, f"{sol.score_unit} " if sol.score_unit else "")
    yield from _fact(sol, "issue_util_pct", share, "issue slots ")
    yield from _fact(sol, "dominant_pipe_pct", share, f"math pipe {sol.dominant_pipe or ''} ".replace("  ", " "))


def _dram(roofline: RooflineBlock) -> Iterator[str]:
    of = _of(roofline.dram_util_pct, roofline.peak_bandwidth_gbs, quantities.bandwidth)
    yield from _fact(roofline, "dram_bandwidth_gbs", quantities.bandwidth, "", of)
    ridge = "" if roofline.ridge_point is None else f" (ridge {quantities.significant(roofline.ridge_point, 3)})"
    yield from _fact(roofline, "arithmetic_intensity", _three, "", f" FLOP/byte{ridge}")


def _rates(roofline: RooflineBlock) -> Iterator[str]:
    """The FLOP rates that are not 0; where all are, none."""
    if roofline.fp32_tflops is None or roofline.fp32_tflops > 0:
        of = _of(roofline.fp32_util_pct, roofline.peak_fp32_tflops, quantities.rate)
        yield from _fact(roofline, "fp32_tflops", quantities.rate, "FP32 ", of)
    for name, rate in (("FP64", roofline.fp64_tflops), ("FP16 vector", roofline.fp16_tflops)):
        if rate:
            yield f"{name} {quantities.rate(rate)}"
    at_clock, utilised = roofline.tensor_util_at_clock_pct or {}, roofline.tensor_util_pct or {}
    for name, rate in (roofline.tensor_tflops or {}).items():
        of_peak, now = utilised.get(name), at_clock.get(name)
        of_now = "" if now is None else f", {share(now)} at this clock"
        if rate is None:
            yield f"{name.upper()} tensor: not known, {because(absent(roofline, f'tensor_tflops.{name}'), roofline)}"
            continue
        told = "" if of_peak is None else f", {share(of_peak)} of its peak{of_now}"
        yield f"{name.upper()} tensor {quantities.rate(rate)}{told}"


def _of(of_peak: float | None, peak: float | None, tell: Tell) -> str:
    return "" if of_peak is None else f", {share(of_peak)}{'' if peak is None else f' of {tell(peak)}'}"


def _occupancy(block: OccupancyBlock) -> Iterator[str]:
    fits = "" if block.theoretical_pct is None else f" where {share(block.theoretical_pct)} fit"
    limited = f", limited by {block.limiter.replace('_', ' ')}" if block.limiter else ""
    yield from _fact(block, "achieved_pct", share, "", f"{fits}{limited}")
    yield from _fact(block, "registers_per_thread", quantities.count, "", " registers a thread")


def _caches(block: CachesBlock) -> Iterator[str]:
    yield from _fact(block, "l1_hit_pct", _hits, "L1 hits ")
    yield from _fact(block, "l2_hit_pct", _hits, "L2 hits ")
    for name, path, used in (
        ("load", "ld_sectors_per_request", block.ld_efficiency_pct),
        ("store", "st_sectors_per_request", block.st_efficiency_pct),
    ):
        told = "" if used is None else f", {share(used)} used"
        yield from _fact(block, path, _three, "", f" sectors a {name}{told}")


def _stalls(block: StallsBlock) -> Iterator[str]:
    told = [f"{one.reason} {share(one.share_pct)}" for one in (block.top or ())[:_MOST_STALLS] if one.share_pct]
    if told:
        yield ", ".join(told)
    elif block.top is None:
        yield from _fact(block, "top", str)


def advice_section(blocks: Blocks) -> Section | None:
    """What to try, and what it could gain at most."""
    notes = [
        f"{step.text}{'' if step.at_most_x is None else f' (at most {quantities.factor(step.at_most_x)})'}"
        for step in blocks.bottleneck.advice or ()
    ]
    if blocks.occupancy.next_step is not None and blocks.bottleneck.family in ("latency", "launch"):
        notes.append(f"Fuller SMs: {blocks.occupancy.next_step}")
    return Section(title="what to try", notes=tuple(notes), mark="> ") if notes else None


def _hits(rate: float) -> str:
    return share(rate) if rate <= 100 else f"{share(rate)} (!)"


def _ratio(ratio: float) -> str:
    return share(ratio * 100)


def _three(ratio: float) -> str:
    return quantities.significant(ratio, 3)
