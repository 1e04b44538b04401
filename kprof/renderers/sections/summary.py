"""The whole of a summary, in the order in which it is read: title, verdicts, blocks, warnings, what to try."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from kprof.blocks.base import IMPORTED, Block
from kprof.blocks.sol import FLOOR_BELOW_LAUNCH
from kprof.evidence import Reason
from kprof.renderers import quantities
from kprof.renderers.content import Section, plural
from kprof.renderers.sections.belief import advice_waits
from kprof.renderers.sections.call import call_section
from kprof.renderers.sections.counters import advice_section, counters_section
from kprof.renderers.sections.kernels import kernels_section
from kprof.renderers.sections.timing import timing_section
from kprof.report import BLOCK_NAMES, Report

_MOST_INPUTS: Final = 3
_TOLD_IN_VERDICT: Final = ("precision", "timing")


def title(report: Report) -> str:
    """What was measured."""
    workload = report.workload
    compiled = " by torch.compile" if workload.ref_mode == "compile" else ""
    ref = f" against {PurePath(workload.ref_file).name}{compiled}" if workload.ref_file else ""
    return f"{_subject(report)}{ref}"


def _subject(report: Report) -> str:
    """What the report is about: a kernel, or the report it was imported from."""
    if report.workload.kernel_file is not None:
        return f"{PurePath(report.workload.kernel_file).name}: {report.workload.entry}"
    imported = report.counters.report_file if report.counters is not None else None
    return f"{PurePath(imported).name}: {plural(len(report.kernels), 'launch', 'launches')}" if imported else "imported"


def circumstances(report: Report) -> tuple[str, ...]:
    """On what it was measured, and of which inputs."""
    workload, environment = report.workload, report.environment
    device = f"{environment.device_name} ({environment.device})" if environment.device_name else environment.device
    named = {reason.code for reason in report.counters.warnings} if report.counters is not None else set()
    if environment.spec is not None and ("gpu_overridden" in named or environment.device_name is None):
        device += f" with the peaks of {environment.spec} (--gpu)"
    software = [f"torch {environment.torch}"] if environment.torch else []
    software += [f"driver {environment.driver}"] if environment.driver else []
    told = [f"{one.path} {quantities.shape(one.shape)} {one.dtype}" for one in workload.inputs[:_MOST_INPUTS]]
    more = len(workload.inputs) - _MOST_INPUTS
    told += [f"and {more} more"] if more > 0 else []
    inputs = [f"inputs: {'; '.join(told)}"] if told else []
    return (", ".join([f"on {device}", *software]), *inputs, *_build(report))


def _build(report: Report) -> list[str]:
    block = report.blocks.build
    if block.seconds is None:
        return []
    how = "found compiled and loaded" if block.cached else "compiled and loaded"
    return [f"build: {how} in {quantities.seconds(block.seconds)}{f' for {block.arch}' if block.arch else ''}"]


def sections(report: Report) -> list[Section]:
    """Every section that has something to say, in order. Of an import the launches first: it may hold unlike ones."""
    counters, kernels = counters_section(report), kernels_section(report)
    parts = [
        timing_section(report.blocks.timing),
        call_section(report.blocks),
        *((kernels, counters) if report.source == "imported" else (counters, kernels)),
        _warnings(report),
        _not_measured(report),
        None if advice_waits(report.blocks) else advice_section(report.blocks),
    ]
    return [part for part in parts if part is not None]


def _warnings(report: Report) -> Section | None:
    told: list[Reason] = list(report.workload.warnings)
    for name in BLOCK_NAMES:
        block: Block = getattr(report.blocks, name)
        told += block.warnings
        if block.status == "suspect" and block.reason is not None and name not in _TOLD_IN_VERDICT:
            told.append(block.reason)
    told += report.counters.warnings if report.counters is not None else ()
    below = {getattr(report.blocks, name).reason for name in _unmeasured(report)}
    waits = advice_waits(report.blocks)
    told = [_unadvised(one) if waits else one for one in dict.fromkeys(told) if one not in below]
    notes = tuple(f"{one.code}: {_sentence(one)}" for one in told)
    return Section(title="warnings", notes=notes, mark="! ") if notes else None


def _unadvised(one: Reason) -> Reason:
    """Without a hint that says how to make the kernel faster."""
    return Reason(code=one.code, message=one.message) if one.code == FLOOR_BELOW_LAUNCH else one


def _unmeasured(report: Report) -> list[str]:
    """Blocks without numbers that a reader may have looked for."""
    found: list[str] = []
    for name in BLOCK_NAMES:
        block: Block = getattr(report.blocks, name)
        silent = name in _TOLD_IN_VERDICT or (block.reason is not None and block.reason.code == IMPORTED.code)
        if block.status in ("skipped", "unavailable") and block.reason is not None and not silent:
            found.append(name)
    return found


def _not_measured(report: Report) -> Section | None:
    """Blocks without numbers, together with others that lack the same for the same reason."""
    groups: dict[Reason, list[str]] = {}
    for name in _unmeasured(report):
        groups.setdefault(getattr(report.blocks, name).reason, []).append(name)
    notes = tuple(f"{', '.join(names)} ({reason.code}): {_sentence(reason)}" for reason, names in groups.items())
    return Section(title="not measured", notes=notes) if notes else None


def _sentence(reason: Reason) -> str:
    return f"{reason.message}.{f' {reason.hint}' if reason.hint else ''}"
