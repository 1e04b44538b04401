"""The summary for people: the verdict first, then the numbers behind it, on one screen."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from kprof.blocks.base import IMPORTED, Block
from kprof.blocks.build import BuildBlock
from kprof.evidence import Reason
from kprof.renderers import quantities
from kprof.renderers.counter_tables import bound_lines, counter_lines, kernel_lines
from kprof.renderers.layout import Style
from kprof.renderers.tables import launches_lines, memory_lines, timing_lines
from kprof.renderers.verdict import verdict_lines
from kprof.report import BLOCK_NAMES, Report

_MOST_INPUTS: Final = 3
_TOLD_IN_VERDICT: Final = ("precision", "timing")


def render(report: Report, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The summary as text, one trailing newline.

    Args:
        report: what to tell.
        width: columns of the page; no line is longer.
        color: ANSI colours on the verdict and the headings.
        ascii_only: no character outside ASCII.
    """
    style = Style(width=max(width, 40), color=color, ascii_only=ascii_only)
    parts = [
        _title_lines(report, style),
        [*verdict_lines(report, style), *bound_lines(report.blocks.bottleneck, style)],
        timing_lines(report.blocks.timing, style),
        memory_lines(report.blocks.memory, style),
        launches_lines(report.blocks.launches, style),
        *_counter_parts(report, style),
        _warning_lines(report, style),
        _absent_lines(report, style),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _title_lines(report: Report, style: Style) -> list[str]:
    workload, environment = report.workload, report.environment
    compiled = " by torch.compile" if workload.ref_mode == "compile" else ""
    ref = f" against {PurePath(workload.ref_file).name}{compiled}" if workload.ref_file else ""
    title = style.clean(f"{_subject(report)}{ref}")
    device = f"{environment.device_name} ({environment.device})" if environment.device_name else environment.device
    named = {reason.code for reason in report.counters.warnings} if report.counters is not None else set()
    if environment.spec is not None and ("gpu_overridden" in named or environment.device_name is None):
        device += f" with the peaks of {environment.spec} (--gpu)"
    software = [f"torch {environment.torch}"] if environment.torch else []
    software += [f"driver {environment.driver}"] if environment.driver else []
    lines = [style.paint(style.shorten(title, style.width), "bold")]
    lines += style.wrapped(", ".join([f"on {device}", *software]))
    told = [f"{one.path} {quantities.shape(one.shape)} {one.dtype}" for one in workload.inputs[:_MOST_INPUTS]]
    more = len(workload.inputs) - _MOST_INPUTS
    told += [f"and {more} more"] if more > 0 else []
    lines += style.wrapped(f"inputs: {'; '.join(told)}", indent="  ") if told else []
    return lines + _build_lines(report.blocks.build, style)


def _counter_parts(report: Report, style: Style) -> list[list[str]]:
    """The counters of the call, and its kernels; of an import the launches first: it may hold unlike ones."""
    together, each = counter_lines(report.blocks, style, _counted(report)), kernel_lines(report.kernels, style)
    return [each, together] if report.source == "imported" else [together, each]


def _counted(report: Report) -> int:
    """Launches that the counter blocks put together: the kernel's, or of an import all on its main device."""
    counted = [one for one in report.kernels if one.sol is not None and one.side in (None, "kernel")]
    if report.source != "imported":
        return len(counted)
    return sum(f"cuda:{one.device or 0}" == report.environment.device for one in counted)


def _subject(report: Report) -> str:
    """What the report is about: a kernel, or the report it was imported from."""
    if report.workload.kernel_file is not None:
        return f"{PurePath(report.workload.kernel_file).name}: {report.workload.entry}"
    imported = report.counters.report_file if report.counters is not None else None
    launches = "1 launch" if len(report.kernels) == 1 else f"{len(report.kernels)} launches"
    return f"{PurePath(imported).name}: {launches}" if imported else "imported"


def _build_lines(block: BuildBlock, style: Style) -> list[str]:
    if block.seconds is None:
        return []
    how = "found compiled and loaded" if block.cached else "compiled and loaded"
    target = f" for {block.arch}" if block.arch else ""
    return style.wrapped(f"build: {how} in {quantities.seconds(block.seconds)}{target}")


def _warning_lines(report: Report, style: Style) -> list[str]:
    blocks = report.blocks
    told: list[Reason] = list(report.workload.warnings)
    for name in BLOCK_NAMES:
        block: Block = getattr(blocks, name)
        told += block.warnings
        if block.status == "suspect" and block.reason is not None and name not in _TOLD_IN_VERDICT:
            told.append(block.reason)
    told += report.counters.warnings if report.counters is not None else ()
    lines: list[str] = []
    for warning in dict.fromkeys(told):
        hint = f" {warning.hint}" if warning.hint else ""
        lines += style.wrapped(f"{warning.code}: {warning.message}.{hint}", indent="  ", first="! ")
    return [style.heading("warnings"), *lines] if lines else []


def _absent_lines(report: Report, style: Style) -> list[str]:
    """Blocks without numbers, together with others that lack the same for the same reason."""
    groups: dict[Reason, list[str]] = {}
    for name in BLOCK_NAMES:
        block: Block = getattr(report.blocks, name)
        silent = name in _TOLD_IN_VERDICT or (block.reason is not None and block.reason.code == IMPORTED.code)
        if block.status in ("skipped", "unavailable") and block.reason is not None and not silent:
            groups.setdefault(block.reason, []).append(name)
    lines: list[str] = []
    for reason, names in groups.items():
        hint = f" {reason.hint}" if reason.hint else ""
        told = f"{', '.join(names)} ({reason.code}): {reason.message}.{hint}"
        lines += style.wrapped(told, indent="  ", first="")
    return [style.heading("not measured"), *lines] if lines else []
