"""The views of time: one row a view, both cache states beside each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kprof.blocks.timing.block import TimingBlock
from kprof.blocks.timing.views import ViewTimes
from kprof.renderers import quantities
from kprof.renderers.content import Section, Table, absent
from kprof.renderers.sections.verdict import VIEW_NAMES, view_name
from kprof.renderers.why import because, null_cell

_VIEWS: Final = ("device", "event", "graph", "host_stream", "host")
_CACHES: Final = ("cold", "warm")
_BY_DEFINITION: Final = "warm_only"
"""The code of a view that has no cold state by its nature: not worth a line."""
_Cell = tuple[str, Callable[[float], str]]
_COLUMNS: Final[tuple[_Cell, ...]] = (
    ("kernel_median_us", quantities.duration),
    ("kernel_p95_us", quantities.duration),
    ("ref_median_us", quantities.duration),
    ("speedup", quantities.factor),
)
_HEADERS: Final = ("view", "kernel", "p95", "reference", "speedup", "samples")


def timing_section(block: TimingBlock) -> Section | None:
    """One row a view and cache state that was measured; below, why the others were not."""
    rows: list[tuple[str, ...]] = []
    missing: dict[str, list[str]] = {}
    for view in _VIEWS:
        found = {cache: getattr(getattr(block, view), cache) for cache in _CACHES}
        codes = {cache: absent(block, f"{view}.{cache}") for cache in _CACHES}
        rows += [
            _row(block, f"{view}.{cache}", view_name(view, cache), times)
            for cache, times in found.items()
            if times is not None
        ]
        if all(times is None for times in found.values()) and len(set(codes.values())) == 1:
            missing.setdefault(codes["cold"], []).append(VIEW_NAMES[view])
            continue
        for cache, times in found.items():
            if times is None and codes[cache] != _BY_DEFINITION:
                missing.setdefault(codes[cache], []).append(view_name(view, cache))
    if not rows:
        return None
    kept = list(range(len(_HEADERS)))
    if block.ref_us is None and len({row[3:5] for row in rows}) == 1:
        # No row has a reference, all for one reason: said once below instead.
        missing.setdefault(absent(block, "ref_us"), []).append("reference")
        kept = [0, 1, 2, 5]
    table = Table(
        headers=tuple(_HEADERS[index] for index in kept),
        rows=tuple(tuple(row[index] for index in kept) for row in rows),
        spare=tuple(place for place, index in enumerate(kept) if index in (2, 5)),
    )
    notes = tuple(f"not measured, {because(code, block)}: {'; '.join(names)}" for code, names in missing.items())
    return Section(title="timing, medians", tables=(table,), notes=(*notes, *_repeats(block)))


def _row(block: TimingBlock, path: str, name: str, times: ViewTimes) -> tuple[str, ...]:
    told = (
        null_cell(block, f"{path}.{field}") if (value := getattr(times, field)) is None else tell(value)
        for field, tell in _COLUMNS
    )
    return (name, *told, str(times.kernel_count))


def _repeats(block: TimingBlock) -> list[str]:
    notes = []
    for index, one in enumerate(block.repeats):
        spreads = (
            (name, null_cell(block, f"repeats[{index}].{field}") if value is None else quantities.percent(value))
            for name, field, value in (
                ("kernel", "kernel_spread_pct", one.kernel_spread_pct),
                ("reference", "ref_spread_pct", one.ref_spread_pct),
            )
        )
        told = ", ".join(f"{name} {value}" for name, value in spreads)
        runs = len(one.kernel_us or ())
        notes.append(f"{runs} fresh processes, {view_name(one.timer, one.cache)}: spread of {told}")
    return notes
