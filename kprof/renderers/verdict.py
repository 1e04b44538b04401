"""The first lines of the summary: what went wrong, is the result right, how much faster is it and by which clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kprof.blocks.base import IMPORTED
from kprof.blocks.precision import PrecisionBlock
from kprof.blocks.timing.block import TimingBlock
from kprof.evidence import SIDE_NAMES, Fault, Reason
from kprof.renderers import quantities
from kprof.renderers.layout import LABEL_WIDTH, Colour, Style
from kprof.report import Report

VIEW_NAMES: Final = {
    "device": "device time",
    "event": "event pair",
    "host": "host time",
    "host_stream": "host stream",
    "graph": "graph replay",
}
_MOST_MISMATCHES: Final = 3
_MOST_DETAIL_LINES: Final = 6


def view_name(view: str, cache: str) -> str:
    """A view in words: ``device time, cold L2``; a CPU's caches are not emptied, so host time warm is just warm."""
    return f"{VIEW_NAMES.get(view, view)}, {'warm' if view.startswith('host') and cache == 'warm' else f'{cache} L2'}"


def verdict_lines(report: Report, style: Style) -> list[str]:
    """The verdict on the run."""
    lines: list[str] = []
    told: set[tuple[str | None, str, str]] = set()
    for fault in report.faults:
        what = (fault.side, fault.code, fault.detail)
        lines += _fault_lines(fault, style, again=what in told)
        told.add(what)
    wrong = report.blocks.precision.passed is False
    lines += _precision_lines(report.blocks.precision, report.faults, style)
    lines += _timing_lines(report.blocks.timing, report.faults, style, wrong=wrong)
    return lines


def _fault_lines(fault: Fault, style: Style, *, again: bool) -> list[str]:
    """What failed, what to do, the end of the log; of what failed alike in an earlier stage, only that it did."""
    whose = f", {SIDE_NAMES[fault.side]}" if fault.side else ""
    if fault.code == "not_attempted":
        return style.labelled("SKIPPED", f"{fault.stage}: {fault.message}", "yellow")
    if again:
        return style.labelled("FAILED", f"{fault.stage}{whose}: the same again ({fault.code})", "red")
    lines = style.labelled("FAILED", f"{fault.stage}{whose}: {fault.message} ({fault.code})", "red")
    if fault.hint:
        lines += style.wrapped(fault.hint, indent=" " * LABEL_WIDTH)
    tail = [style.verbatim(line.rstrip()) for line in fault.detail.splitlines() if line.strip()][-_MOST_DETAIL_LINES:]
    return lines + [style.shorten(f"{' ' * LABEL_WIDTH}| {line}", style.width) for line in tail]


def _reason_text(reason: Reason | None) -> str:
    return f"{reason.message} ({reason.code})" if reason else "no reason was given"


def _reason_lines(reason: Reason | None, faults: Sequence[Fault], style: Style) -> list[str]:
    """The reason, unless a fault has just said the same."""
    told = reason is None or any(fault.code == reason.code and fault.message in reason.message for fault in faults)
    if told or reason is None:
        return []
    hint = f". {reason.hint}" if reason.hint else ""
    return style.wrapped(f"{_reason_text(reason)}{hint}", indent=" " * LABEL_WIDTH)


def _precision_lines(block: PrecisionBlock, faults: Sequence[Fault], style: Style) -> list[str]:
    if block.reason is not None and block.reason.code == IMPORTED.code:
        return []
    if block.trials is None:
        label: str = "UNKNOWN" if block.status == "failed" else "UNTESTED"
        return style.labelled(label, _reason_text(block.reason), "yellow")
    label, colour = _precision_label(block)
    lines = style.labelled(label, _precision_numbers(block), colour)
    if block.kernel_error_vs_fp64 is not None and block.ref_error_vs_fp64 is not None:
        kernel, ref = quantities.error(block.kernel_error_vs_fp64), quantities.error(block.ref_error_vs_fp64)
        lines += style.wrapped(f"error against fp64: kernel {kernel}, reference {ref}", indent=" " * LABEL_WIDTH)
    lines += _reason_lines(block.reason, faults, style)
    return lines + _mismatch_lines(block, style) if block.passed is False else lines


def _precision_label(block: PrecisionBlock) -> tuple[str, Colour]:
    if block.passed is None:
        return "UNKNOWN", "yellow"
    if not block.passed:
        return "WRONG", "red"
    return ("RIGHT", "green") if block.status == "ok" else ("RIGHT?", "yellow")


def _precision_numbers(block: PrecisionBlock) -> str:
    parts = [f"{block.trials_passed} of {block.trials_requested} trials agree"]
    if block.mismatched_elements:
        of = f" of {block.elements:,}" if block.elements else ""
        parts.append(f"{block.mismatched_elements:,}{of} elements out of tolerance")
    if block.max_abs_error is None:
        parts.append(f"max abs error: {block.reasons.get('max_abs_error', 'null')}")
    else:
        tolerance = ""
        if block.atol is not None and block.rtol is not None:
            tolerance = f" (atol {quantities.error(block.atol)}, rtol {quantities.error(block.rtol)})"
        parts.append(f"max abs error {quantities.error(block.max_abs_error)}{tolerance}")
    if block.deterministic is False:
        parts.append("results differ from call to call")
    return "; ".join(parts)


def _mismatch_lines(block: PrecisionBlock, style: Style) -> list[str]:
    lines: list[str] = []
    indent = " " * LABEL_WIDTH
    for mismatch in block.mismatches[:_MOST_MISMATCHES]:
        lines += style.wrapped(f"{mismatch.where}: {mismatch.message} ({mismatch.code})", indent=indent)
    if len(block.mismatches) > _MOST_MISMATCHES:
        lines.append(f"{indent}and {len(block.mismatches) - _MOST_MISMATCHES} more in the report")
    if block.worst_index is not None and block.mismatched_elements != 0:
        where = f"{block.worst_output or 'out'}[{', '.join(map(str, block.worst_index))}]"
        kernel, ref = (
            "not finite" if one is None else quantities.value(one)
            for one in (block.worst_kernel_value, block.worst_ref_value)
        )
        told = f"largest error over its tolerance: {where} is {kernel}, reference {ref} (trial seed {block.worst_seed})"
        lines += style.wrapped(told, indent=indent)
    return lines


def _timing_lines(block: TimingBlock, faults: Sequence[Fault], style: Style, *, wrong: bool) -> list[str]:
    if block.reason is not None and block.reason.code == IMPORTED.code:
        return []
    if block.kernel_us is None or block.headline_view is None or block.headline_cache is None:
        return style.labelled("UNTIMED", _reason_text(block.reason), "yellow")
    where = view_name(block.headline_view, block.headline_cache)
    kernel = quantities.duration(block.kernel_us)
    suspect = "" if block.status == "ok" else "?"
    if block.speedup is None or block.ref_us is None:
        why = block.reasons.get("speedup", "null")
        lines = style.labelled(f"TIME{suspect}", f"kernel {kernel} ({where}); no speedup: {why}", "bold")
    else:
        told = f"{quantities.factor(block.speedup, 4)}{_interval(block)} by {where}"
        told += ", of a wrong result" if wrong else ""
        colour: Colour = "yellow" if suspect or wrong or block.speedup < 1 else "green"
        lines = style.labelled(f"SPEEDUP{suspect}", told, colour)
        times = f"kernel {kernel}, reference {quantities.duration(block.ref_us)}"
        lines += style.wrapped(times, indent=" " * LABEL_WIDTH)
    lines += style.wrapped(f"measured by {block.method}", indent=" " * LABEL_WIDTH)
    return lines + _reason_lines(block.reason, faults, style)


def _interval(block: TimingBlock) -> str:
    if block.speedup_ci95 is None:
        return f" (no interval: {block.reasons.get('speedup_ci95', 'null')})"
    low, high = block.speedup_ci95
    slower = ", slower than the reference" if block.speedup is not None and block.speedup < 1 else ""
    return f"{slower} (95 %: {quantities.factor(low, 4)} to {quantities.factor(high, 4)})"
