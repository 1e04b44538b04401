"""The tables of the summary: views of time, memory, launches. An absent value shows its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kprof.blocks.base import Block
from kprof.blocks.launches import LaunchesBlock
from kprof.blocks.memory import MemoryBlock
from kprof.blocks.timing.block import TimingBlock
from kprof.blocks.timing.views import ViewTimes
from kprof.evidence import SIDE_NAMES
from kprof.renderers import quantities
from kprof.renderers.layout import Style
from kprof.renderers.verdict import VIEW_NAMES, view_name

_VIEWS: Final = ("device", "event", "graph", "host_stream", "host")
_CACHES: Final = ("cold", "warm")
_MOST_KERNELS: Final = 6
_BY_DEFINITION: Final = "warm_only"
"""The code of a view that has no cold state by its nature: not worth a line."""
_FULL_TABLE_FROM: Final = 76
"""Narrower pages leave out the columns that matter least."""
_KERNEL_COLUMNS: Final = 46
"""Room that the table of kernels needs beside the name."""


def _cell(block: Block, path: str, number: float | int | None, tell: Callable[[float], str]) -> str:
    return block.reasons.get(path, "null") if number is None else tell(number)


def timing_lines(block: TimingBlock, style: Style) -> list[str]:
    """One row a view and cache state that was measured; below, why the others were not."""
    rows: list[list[str]] = []
    absent: dict[str, list[str]] = {}
    for view in _VIEWS:
        found = getattr(block, view)
        codes = {cache: block.reasons.get(f"{view}.{cache}", "null") for cache in _CACHES}
        if found.cold is None and found.warm is None and len(set(codes.values())) == 1:
            absent.setdefault(codes["cold"], []).append(VIEW_NAMES[view])
            continue
        for cache in _CACHES:
            times: ViewTimes | None = getattr(found, cache)
            if times is None and codes[cache] == _BY_DEFINITION:
                continue
            if times is None:
                absent.setdefault(codes[cache], []).append(view_name(view, cache))
            else:
                rows.append(_timing_row(block, f"{view}.{cache}", view_name(view, cache), times))
    if not rows:
        return []
    headers = ["view", "kernel", "reference", "speedup", "kernel p95", "samples"]
    kept = [0, 1, 2, 3, 4, 5] if style.width >= _FULL_TABLE_FROM else [0, 1, 2, 3]
    if block.ref_us is None and len(alike := {tuple(row[2:4]) for row in rows}) == 1:
        # No row has a reference, all for one reason: said once below instead.
        absent.setdefault(alike.pop()[0], []).append("reference")
        kept = [index for index in kept if index not in (2, 3)]
    told = [[row[index] for index in kept] for row in rows]
    lines = [style.heading("timing, medians"), *style.table([headers[index] for index in kept], told)]
    return [*lines, *_absent_lines(absent, style), *_repeat_lines(block, style)]


def _absent_lines(absent: dict[str, list[str]], style: Style) -> list[str]:
    lines: list[str] = []
    for code, names in absent.items():
        lines += style.wrapped(f"not measured ({code}): {'; '.join(names)}", indent="  ", first="")
    return lines


def _repeat_lines(block: TimingBlock, style: Style) -> list[str]:
    lines: list[str] = []
    for index, one in enumerate(block.repeats):
        spreads = [
            f"{name} {_cell(block, f'repeats[{index}].{field}', getattr(one, field), quantities.percent)}"
            for name, field in (("kernel", "kernel_spread_pct"), ("reference", "ref_spread_pct"))
        ]
        told = f"{len(one.kernel_us or ())} fresh processes, {view_name(one.timer, one.cache)}: spread of "
        lines += style.wrapped(told + ", ".join(spreads), indent="  ", first="")
    return lines


def _timing_row(block: TimingBlock, path: str, name: str, times: ViewTimes) -> list[str]:
    return [
        name,
        _cell(block, f"{path}.kernel_median_us", times.kernel_median_us, quantities.duration),
        _cell(block, f"{path}.ref_median_us", times.ref_median_us, quantities.duration),
        _cell(block, f"{path}.speedup", times.speedup, quantities.factor),
        _cell(block, f"{path}.kernel_p95_us", times.kernel_p95_us, quantities.duration),
        str(times.kernel_count),
    ]


def memory_lines(block: MemoryBlock, style: Style) -> list[str]:
    """Peaks of both sides."""
    if block.kernel_peak_mb is None and block.ref_peak_mb is None:
        return []
    sides = [
        ("peak above the call's start", "kernel_peak_mb", "ref_peak_mb"),
        ("taken outside torch's allocator", "kernel_device_delta_mb", "ref_device_delta_mb"),
    ]
    lines = [style.heading(f"memory of one call{_heading_ratio(block, 'ratio', 'ratio of peaks', block.ratio)}")]
    return lines + _two_sides(block, [(*row, quantities.size_from_mb) for row in sides], style)


def launches_lines(block: LaunchesBlock, style: Style) -> list[str]:
    """Counts of both sides, and the kernels behind them."""
    if block.status in ("skipped", "unavailable", "failed"):
        return []
    rows: list[tuple[str, str, str, Callable[[float], str]]] = [
        (label, f"kernel_{name}", f"ref_{name}", tell)
        for label, name, tell in (
            ("kernels", "launches", _count),
            ("device copies", "memcpy", _count),
            ("device fills", "memset", _count),
            ("launch calls on the host", "host_launches", _count),
            ("torch operators called", "operator_calls", _count),
            ("device time, sum of kernels", "device_time_us", quantities.duration),
        )
    ]
    told = _heading_ratio(block, "fusion_ratio", "fusion ratio", block.fusion_ratio)
    lines = [style.heading(f"launches of one call{told}")]
    return lines + _two_sides(block, rows, style) + _kernel_table(block, style)


def _heading_ratio(block: Block, path: str, name: str, ratio: float | None) -> str:
    """``, NAME 9.00x``; why there is none, where there is none."""
    told = _cell(block, path, ratio, quantities.factor)
    return f", {name} {told}" if ratio is not None else f", no {name} ({told})"


def _two_sides(block: Block, rows: Iterable[tuple[str, str, str, Callable[[float], str]]], style: Style) -> list[str]:
    """A table of label, kernel and reference; what both sides lack goes below it, with the reasons."""
    kept: list[list[str]] = []
    absent: dict[str, list[str]] = {}
    for label, *paths, tell in rows:
        values = [getattr(block, str(path)) for path in paths]
        codes = dict.fromkeys(block.reasons.get(str(path), "null") for path in paths)
        if all(value is None for value in values):
            absent.setdefault(", ".join(codes), []).append(label)
        else:
            cells = [_cell(block, str(path), value, tell) for path, value in zip(paths, values, strict=True)]
            kept.append([label, *cells])
    table = style.table(["", "kernel", "reference"], kept) if kept else []
    return [*table, *_absent_lines(absent, style)]


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _kernel_table(block: LaunchesBlock, style: Style) -> list[str]:
    if not block.table:
        return []
    rows = []
    for index, row in enumerate(block.table[:_MOST_KERNELS]):
        path = f"table[{index}]"
        rows.append(
            [
                style.shorten(style.clean(row.name), max(style.width - _KERNEL_COLUMNS, 12)),
                SIDE_NAMES[row.side],
                str(row.count),
                _cell(block, f"{path}.total_us", row.total_us, quantities.duration),
                block.reasons.get(f"{path}.grid", "null") if row.grid is None else quantities.extent(row.grid),
                block.reasons.get(f"{path}.block", "null") if row.block is None else quantities.extent(row.block),
            ]
        )
    lines = ["", *style.table(["kernel", "of", "runs", "total", "grid", "block"], rows, words=(0, 1))]
    more = len(block.table) - _MOST_KERNELS
    return [*lines, f"and {more} more in the report"] if more > 0 else lines
