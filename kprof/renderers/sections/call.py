"""One call of each side: what it launches, what it allocates, where its time goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kprof.blocks.base import Block
from kprof.blocks.waterfall import WaterfallBlock
from kprof.renderers import quantities
from kprof.renderers.content import Section, Table, absent
from kprof.renderers.why import because, null_cell
from kprof.report import Blocks

_Row = tuple[str, str, Callable[[float], str]]
_LAUNCHES: Final[tuple[_Row, ...]] = (
    ("kernels", "launches", quantities.count),
    ("device copies", "memcpy", quantities.count),
    ("device fills", "memset", quantities.count),
    ("launch calls on the host", "host_launches", quantities.count),
    ("torch operators called", "operator_calls", quantities.count),
    ("device time, sum of kernels", "device_time_us", quantities.duration),
)
_MEMORY: Final[tuple[_Row, ...]] = (
    ("peak memory above its start", "peak_mb", quantities.size_from_mb),
    ("memory outside torch's allocator", "device_delta_mb", quantities.size_from_mb),
)
_ONLY_WHERE_ANY: Final = frozenset({"memcpy", "memset", "device_delta_mb"})
"""Worth a row only where a side has any."""
_NOT_TRIED: Final = ("skipped", "unavailable", "failed")
_PARTS: Final = (
    ("gap_us", "waiting for the host"),
    ("idle_us", "idle between kernels"),
    ("excess_us", "kernels above the floor"),
    ("floor_us", "floor"),
)


def call_section(blocks: Blocks) -> Section | None:
    """Counts and sizes of both sides beside each other; what both sides lack goes below, with the reasons."""
    rows: list[tuple[str, ...]] = []
    missing: dict[str, list[str]] = {}
    ratios: list[str] = []
    for block, names, ratio, what in (
        (blocks.launches, _LAUNCHES, "fusion_ratio", "fusion ratio"),
        (blocks.memory, _MEMORY, "ratio", "ratio of peaks"),
    ):
        if block.status in _NOT_TRIED:
            continue
        value: float | None = getattr(block, ratio)
        if value is not None:
            ratios.append(f"{what} {quantities.factor(value)}")
        for name in names:
            _add(block, name, rows, missing)
        if value is None:
            missing.setdefault(because(absent(block, ratio), block), []).append(what)
    table = Table(headers=("", "kernel", "reference"), rows=tuple(rows))
    notes = [f"not measured, {why}: {'; '.join(labels)}" for why, labels in missing.items()]
    notes += _waterfall(blocks.waterfall)
    if not rows and not notes:
        return None
    return Section(title=", ".join(("one call", *ratios)), tables=(table,) if rows else (), notes=tuple(notes))


def _add(block: Block, row: _Row, rows: list[tuple[str, ...]], missing: dict[str, list[str]]) -> None:
    label, name, tell = row
    paths = [f"{side}_{name}" for side in ("kernel", "ref")]
    values: list[float | None] = [getattr(block, path) for path in paths]
    if all(value is None for value in values):
        codes = dict.fromkeys(absent(block, path) for path in paths)
        missing.setdefault(", ".join(because(code, block) for code in codes), []).append(label)
    elif any(values) or name not in _ONLY_WHERE_ANY:
        cells = (null_cell(block, path) if v is None else tell(v) for path, v in zip(paths, values, strict=True))
        rows.append((label, *cells))


def _waterfall(block: WaterfallBlock) -> list[str]:
    """The call's time as a sum of its parts."""
    if block.host_us is None:
        return []
    told: list[str] = []
    missing: dict[str, list[str]] = {}
    for path, what in _PARTS:
        value: float | None = getattr(block, path)
        if value is None:
            missing.setdefault(absent(block, path), []).append(what)
        else:
            told.append(f"{quantities.duration(value)} {what}")
    told += [f"{' and '.join(names)}, not told apart: {because(code, block)}" for code, names in missing.items()]
    return [f"{quantities.duration(block.host_us)} of a call under the profiler = {' + '.join(told)}"]
