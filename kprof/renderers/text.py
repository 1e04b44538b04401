"""The summary for people: the verdict first, then the numbers behind it, on one screen."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from kprof.blocks.base import Block
from kprof.blocks.build import BuildBlock
from kprof.evidence import Reason
from kprof.renderers import quantities
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
        verdict_lines(report, style),
        timing_lines(report.blocks.timing, style),
        memory_lines(report.blocks.memory, style),
        launches_lines(report.blocks.launches, style),
        _warning_lines(report, style),
        _absent_lines(report, style),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _title_lines(report: Report, style: Style) -> list[str]:
    workload, environment = report.workload, report.environment
    compiled = " by torch.compile" if workload.ref_mode == "compile" else ""
    ref = f" against {PurePath(workload.ref_file).name}{compiled}" if workload.ref_file else ""
    title = style.clean(f"{PurePath(workload.kernel_file).name}: {workload.entry}{ref}")
    device = f"{environment.device_name} ({environment.device})" if environment.device_name else environment.device
    software = [f"torch {environment.torch}"] if environment.torch else []
    software += [f"driver {environment.driver}"] if environment.driver else []
    lines = [style.paint(style.shorten(title, style.width), "bold")]
    lines += style.wrapped(", ".join([f"on {device}", *software]))
    told = [f"{one.path} {quantities.shape(one.shape)} {one.dtype}" for one in workload.inputs[:_MOST_INPUTS]]
    more = len(workload.inputs) - _MOST_INPUTS
    told += [f"and {more} more"] if more > 0 else []
    lines += style.wrapped(f"inputs: {'; '.join(told)}", indent="  ") if told else []
    return lines + _build_lines(report.blocks.build, style)


def _build_lines(block: BuildBlock, style: Style) -> list[str]:
    if block.seconds is None:
        return []
    how = "found compiled and loaded" if block.cached else "compiled and loaded"
    target = f" for {block.arch}" if block.arch else ""
    return style.wrapped(f"build: {how} in {quantities.seconds(block.seconds)}{target}")


def _warning_lines(report: Report, style: Style) -> list[str]:
    blocks = report.blocks
    told: list[Reason] = list(report.workload.warnings)
    for block in (blocks.build, blocks.precision, blocks.timing, blocks.memory, blocks.launches):
        told += block.warnings
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
        if block.status in ("skipped", "unavailable") and block.reason is not None and name not in _TOLD_IN_VERDICT:
            groups.setdefault(block.reason, []).append(name)
    lines: list[str] = []
    for reason, names in groups.items():
        hint = f" {reason.hint}" if reason.hint else ""
        told = f"{', '.join(names)} ({reason.code}): {reason.message}.{hint}"
        lines += style.wrapped(told, indent="  ", first="")
    return [style.heading("not measured"), *lines] if lines else []
