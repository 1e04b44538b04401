"""The first lines of a summary: is it wrong, what failed, how fast is it, what holds it back, how near is the floor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from kprof.blocks.base import IMPORTED, Block
from kprof.blocks.bottleneck import BottleneckBlock, Evidence
from kprof.blocks.integrity.block import FAILED, IntegrityBlock
from kprof.blocks.integrity.check import failed_checks
from kprof.blocks.precision_records import PrecisionBlock
from kprof.blocks.sol import FLOOR_BELOW_LAUNCH
from kprof.blocks.sol_records import SolBlock
from kprof.blocks.timing.block import TimingBlock
from kprof.context import WorkloadInfo
from kprof.evidence import SIDE_NAMES, Fault, Reason
from kprof.renderers import quantities
from kprof.renderers.content import Tone, Verdict, absent
from kprof.renderers.sections.belief import advice_waits, disbelief
from kprof.renderers.why import because, sentence
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
_MOST_USER_LINES: Final = 3
_MOST_EVIDENCE: Final = 3
_LAST_CALL_FIRST: Final = "(most recent call first)"
_OF_PEAK: Final = ".pct_of_peak_sustained_elapsed"
_ESTIMATE: Final = "upper_estimate"
_FLOOR_KINDS: Final = {
    "bytes_only": " (from bytes alone, may be too low)",
    _ESTIMATE: " (an upper estimate, may be too high)",
}
_NOT_ASKED: Final = frozenset({IMPORTED.code, "no_reference", "not_requested"})


def view_name(view: str, cache: str) -> str:
    """A view in words: ``device time, cold L2``; a CPU's caches are not emptied, so host time warm is just warm."""
    return f"{VIEW_NAMES.get(view, view)}, {'warm' if view.startswith('host') and cache == 'warm' else f'{cache} L2'}"


def verdicts(report: Report) -> list[Verdict]:
    """The verdict on the run: that the result is wrong before all else, then what failed."""
    blocks, faults = report.blocks, report.faults
    why_not = disbelief(blocks)
    precision = _precision(blocks.precision, faults)
    is_wrong = blocks.precision.passed is False
    found = [
        precision if is_wrong else None,
        *_faults(faults, report.workload),
        _integrity(blocks.integrity),
        None if is_wrong else precision,
        _timing(blocks.timing, why_not),
        _bound(blocks.bottleneck, advice_waits(blocks)),
        _floor(blocks.sol, why_not),
    ]
    return [one for one in found if one is not None]


def _faults(faults: Sequence[Fault], workload: WorkloadInfo) -> list[Verdict]:
    """What failed, what to do, the end of the log; of what failed alike in an earlier stage, only that it did."""
    made: list[Verdict] = []
    told: set[tuple[str | None, str, str]] = set()
    for fault in faults:
        whose = f"{fault.stage}, {SIDE_NAMES[fault.side]}" if fault.side else fault.stage
        what = (fault.side, fault.code, fault.detail)
        if fault.code == "not_attempted":
            made.append(Verdict(label="SKIPPED", text=f"{fault.stage}: {fault.message}", tone="doubt"))
        elif what in told:
            made.append(Verdict(label="FAILED", text=f"{whose}: the same again ({fault.code})", tone="bad"))
        else:
            log = _log(fault.detail, workload)
            more = (fault.hint,) if fault.hint else ()
            text = f"{whose}: {fault.message} ({fault.code})"
            made.append(Verdict(label="FAILED", text=text, tone="bad", more=more, log=log))
        told.add(what)
    return made


def _log(detail: str, workload: WorkloadInfo) -> tuple[str, ...]:
    """The end of a log. A stack with the last call first: the lines of the user's files, then its head."""
    lines = [line.rstrip() for line in detail.splitlines() if line.strip()]
    stacks = [index for index, line in enumerate(lines) if _LAST_CALL_FIRST in line]
    if not stacks:
        return tuple(lines[-_MOST_DETAIL_LINES:])
    current = next((index for index in stacks if lines[index].startswith("Current thread")), stacks[-1])
    later = [index for index in stacks if index > current]
    stack = lines[current + 1 : later[0] if later else None]
    names = [PurePath(name).name for name in (workload.kernel_file, workload.ref_file) if name]
    theirs = [line for line in stack if any(f'/{name}"' in line or f'"{name}"' in line for name in names)]
    kept = dict.fromkeys((*theirs[:_MOST_USER_LINES], *stack))
    return (lines[current], *list(kept)[: _MOST_DETAIL_LINES - 1])


def _reason_text(reason: Reason | None) -> str:
    return f"{reason.message} ({reason.code})" if reason else "no reason was given"


def _reason(reason: Reason | None, faults: Sequence[Fault]) -> tuple[str, ...]:
    """The reason, unless a fault or the failed checks have just said the same."""
    told = (
        reason is None
        or reason.code == FAILED
        or any(fault.code == reason.code and fault.message in reason.message for fault in faults)
    )
    if told or reason is None:
        return ()
    return (_whole_reason(reason),)


def _whole_reason(reason: Reason) -> str:
    return f"{_reason_text(reason)}{f'. {reason.hint}' if reason.hint else ''}"


def _is_imported(block: Block) -> bool:
    return block.reason is not None and block.reason.code == IMPORTED.code


def _precision(block: PrecisionBlock, faults: Sequence[Fault]) -> Verdict | None:
    if _is_imported(block):
        return None
    if block.trials is None:
        label = "UNKNOWN" if block.status == "failed" else "UNTESTED"
        return Verdict(label=label, text=_reason_text(block.reason), tone="doubt")
    label, tone = _precision_label(block)
    more: tuple[str, ...] = ()
    if block.kernel_error_vs_fp64 is not None and block.ref_error_vs_fp64 is not None:
        kernel, ref = quantities.error(block.kernel_error_vs_fp64), quantities.error(block.ref_error_vs_fp64)
        more = (f"error against fp64: kernel {kernel}, reference {ref}",)
    more += _reason(block.reason, faults)
    more += _mismatches(block) if block.passed is False else ()
    return Verdict(label=label, text=_precision_numbers(block), tone=tone, more=more)


def _precision_label(block: PrecisionBlock) -> tuple[str, Tone]:
    if block.passed is None:
        return "UNKNOWN", "doubt"
    if not block.passed:
        return "WRONG", "bad"
    return ("RIGHT", "good") if block.status == "ok" else ("RIGHT?", "doubt")


def _precision_numbers(block: PrecisionBlock) -> str:
    parts = [f"{block.trials_passed} of {block.trials_requested} trials agree"]
    if block.mismatched_elements:
        of = f" of {block.elements:,}" if block.elements else ""
        parts.append(f"{block.mismatched_elements:,}{of} elements out of tolerance")
    if block.max_abs_error is None:
        parts.append(f"max abs error not known ({absent(block, 'max_abs_error').replace('_', ' ')})")
    else:
        tolerance = ""
        if block.atol is not None and block.rtol is not None:
            tolerance = f" (atol {quantities.error(block.atol)}, rtol {quantities.error(block.rtol)})"
        parts.append(f"max abs error {quantities.error(block.max_abs_error)}{tolerance}")
    if block.deterministic is False:
        parts.append("results differ from call to call")
    return "; ".join(parts)


def _mismatches(block: PrecisionBlock) -> tuple[str, ...]:
    told = [f"{one.where}: {one.message} ({one.code})" for one in block.mismatches[:_MOST_MISMATCHES]]
    if len(block.mismatches) > _MOST_MISMATCHES:
        told.append(f"and {len(block.mismatches) - _MOST_MISMATCHES} more in the report")
    if block.worst_index is not None and block.mismatched_elements != 0:
        where = f"{block.worst_output or 'out'}[{', '.join(map(str, block.worst_index))}]"
        kernel, ref = (
            "not finite" if one is None else quantities.value(one)
            for one in (block.worst_kernel_value, block.worst_ref_value)
        )
        seed = f" (trial seed {block.worst_seed})"
        told.append(f"largest error over its tolerance: {where} is {kernel}, reference {ref}{seed}")
    return tuple(told)


def _integrity(block: IntegrityBlock) -> Verdict | None:
    """Only where a check failed: that the others passed is in the report."""
    if block.passed is not False:
        return None
    more = tuple(f"{one.name}: {one.detail}" for one in failed_checks(block.checks))
    text = "the kernel did not do the work it was timed for, or not where it was looked for"
    return Verdict(label="SUSPECT", text=text, tone="bad", more=more)


def _timing(block: TimingBlock, why_not: str) -> Verdict | None:
    """The speedup, and in the next line why it is in doubt where it is.

    Args:
        block: the block.
        why_not: why it counts for nothing; empty where it counts.
    """
    if _is_imported(block):
        return None
    if block.kernel_us is None or block.headline_view is None or block.headline_cache is None:
        return Verdict(label="UNTIMED", text=_reason_text(block.reason), tone="doubt")
    where = view_name(block.headline_view, block.headline_cache)
    kernel = quantities.duration(block.kernel_us)
    doubt = "?" if block.status != "ok" or why_not else ""
    untold = block.reason is not None and not (why_not and block.reason.code == FAILED)
    why: tuple[str, ...] = (_whole_reason(block.reason),) if untold and block.reason is not None else ()
    why += (f"not to be believed: {why_not}",) if why_not and block.speedup is None else ()
    measured = f"measured by {block.method}"
    if block.speedup is None or block.ref_us is None:
        text = f"kernel {kernel} ({where}); no speedup: {because(absent(block, 'speedup'), block)}"
        return Verdict(label=f"TIME{doubt}", text=text, tone="plain", more=(*why, measured))
    text = f"{quantities.factor(block.speedup, 4)}{_interval(block)} by {where}"
    if why_not:
        text = f"not to be believed: {why_not}; {text}"
    tone: Tone = "doubt" if doubt else "plain" if block.speedup < 1 else "good"
    times = f"kernel {kernel}, reference {quantities.duration(block.ref_us)}"
    return Verdict(label=f"SPEEDUP{doubt}", text=text, tone=tone, more=(*why, times, measured))


def _interval(block: TimingBlock) -> str:
    if block.speedup_ci95 is None:
        return f" (no interval: {sentence(absent(block, 'speedup_ci95'), block)})"
    low, high = block.speedup_ci95
    slower = ", slower than the reference" if block.speedup is not None and block.speedup < 1 else ""
    return f"{slower} (95 %: {quantities.factor(low, 4)} to {quantities.factor(high, 4)})"


def _bound(block: BottleneckBlock, waits: str) -> Verdict | None:
    """What holds the kernel back, and why; of a kernel whose speed counts for nothing, until when that waits."""
    if block.family is None:
        return None
    if waits:
        text = f"waits until {waits}; what was measured of the speed is in the JSON report"
        return Verdict(label="ADVICE", text=text, tone="doubt")
    label = block.family if block.limiter is None else f"{block.family}: {block.limiter.replace('_', ' ')}"
    whose = "" if block.kernel is None else f" ({block.kernel})"
    if block.kernel is not None and block.time_share_pct is not None and block.time_share_pct < 100:
        whose = f" ({block.kernel}; {quantities.share(block.time_share_pct)} of the kernels' time)"
    near = f", near {block.near_border}" if block.near_border else ""
    near += " (estimated from the least that the task asks for)" if block.estimated else ""
    doubted = block.family == "unknown" or block.status == "suspect"
    return Verdict(
        label="BOUND?" if doubted else "BOUND",
        text=f"{label}{near}{whose}",
        tone="doubt" if doubted else "plain",
        more=tuple(evidence(one) for one in (block.evidence or ())[:_MOST_EVIDENCE]),
    )


def evidence(one: Evidence) -> str:
    """``sm__inst_issued: 81.67 % of its peak (border 80)``."""
    name, of_peak = (one.metric.split(".")[0], " of its peak") if one.metric.endswith(_OF_PEAK) else (one.metric, "")
    border = "" if one.threshold is None else f" (border {quantities.significant(one.threshold, 3)})"
    value = "not measured" if one.value is None else f"{quantities.significant(one.value, 4)} {one.unit}"
    return f"{name}: {value}{of_peak}{border}"


def _floor(block: SolBlock, why_not: str) -> Verdict | None:
    """How far it is to the least time that the task could take."""
    if block.floor_us is None or block.task_score is None:
        why = absent(block, "floor_us" if block.floor_us is None else "task_score")
        silent = why in _NOT_ASKED or block.status in ("skipped", "failed")
        return None if silent else Verdict(label="FLOOR", text=f"not known: {because(why, block)}", tone="doubt")
    kind = _FLOOR_KINDS.get(block.floor_kind or "", "")
    below = next((one.message for one in block.warnings if one.code == FLOOR_BELOW_LAUNCH), None)
    least = f"; {below or f'the floor is {quantities.duration(block.floor_us)}{kind}'}"
    room = "" if why_not else _room(block)
    return Verdict(label="FLOOR", text=f"{_reached(block, block.task_score, why_not)}{least}{room}", tone="plain")


def _reached(block: SolBlock, score: float, why_not: str) -> str:
    estimated = block.floor_kind == _ESTIMATE
    if score > 1 and why_not:
        return f"faster than the {'estimated ' if estimated else ''}floor, which counts for nothing: {why_not}"
    if score > 1:
        return "faster than the estimated floor: the estimate is too high" if estimated else "faster than the floor"
    return f"{quantities.share(score * 100)} of the {'estimated best' if estimated else 'best possible'} speed"


def _room(block: SolBlock) -> str:
    """The most that is to gain, where the floor bounds it: not where it may be too high, or lies below any launch."""
    bounded = block.floor_kind != _ESTIMATE and all(one.code != FLOOR_BELOW_LAUNCH for one in block.warnings)
    if not bounded or not block.headroom or block.headroom < 1:
        return ""
    return f"; at most {quantities.factor(block.headroom)} to gain"
