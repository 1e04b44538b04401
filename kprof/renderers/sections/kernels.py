"""The kernels of a call: with their counters where there are some, else as the profiler grouped them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kprof.blocks.kernels import KernelLaunch
from kprof.blocks.launches import LaunchesBlock
from kprof.evidence import SIDE_NAMES
from kprof.renderers import quantities
from kprof.renderers.content import Section, Table, plural
from kprof.renderers.why import null_cell
from kprof.report import Report

_MOST: Final = 6
_MOST_IMPORTED: Final = 30
_COUNTED: Final = ("kernel", "of", "time", "DRAM", "SM", "bound", "grid", "block")
_SEEN: Final = ("kernel", "of", "runs", "total", "grid", "block")
_OF: Final = 1


def kernels_section(report: Report, most: int | None = None) -> Section | None:
    """One row a launch where one has counters, those with most time first; where none has, one row a kernel.

    Args:
        report: whose launches.
        most: rows; None: as many as a screen takes.
    """
    counted = [one for one in report.kernels if one.bottleneck is not None]
    if not counted:
        return _seen(report.blocks.launches, most or _MOST)
    imported = all(one.side is None for one in counted)
    if imported and len(counted) < 2:
        return None
    longest = sorted(report.kernels, key=lambda one: -(one.duration_us or 0.0))
    most = most or (_MOST_IMPORTED if imported else _MOST)
    table = kernel_table(longest[:most], sides=not imported)
    without = "" if len(counted) == len(longest) else f" of {len(longest)}"
    left = len(longest) - most
    where = "--kernel NAME shows some alone" if imported else "--format csv has every launch"
    notes = (f"and {left} more in the report; {where}",) if left > 0 else ()
    return Section(title=f"kernels with counters: {len(counted)}{without}", tables=(table,), notes=notes)


def kernel_table(kernels: Sequence[KernelLaunch], *, sides: bool) -> Table:
    """One row a launch; ``sides``: with a column for whose call launched it."""
    kept = [index for index in range(len(_COUNTED)) if sides or index != _OF]
    rows = [_row(one) for one in kernels]
    return Table(
        headers=tuple(_COUNTED[index] for index in kept),
        rows=tuple(tuple(row[index] for index in kept) for row in rows),
        words=(0, _OF, len(kept) - 3) if sides else (0, len(kept) - 3),
        names=(0,),
        spare=(len(kept) - 2, len(kept) - 1),
    )


def _row(one: KernelLaunch) -> tuple[str, ...]:
    sol, bound = one.sol, one.bottleneck
    label = null_cell(one, "bottleneck") if bound is None else bound.limiter or bound.family or "unknown"
    dram, compute = (
        null_cell(one, "sol")
        if sol is None
        else null_cell(sol, path)
        if (value := getattr(sol, path)) is None
        else quantities.share(value)
        for path in ("dram_util_pct", "compute_util_pct")
    )
    return (
        one.name,
        SIDE_NAMES[one.side] if one.side else "",
        null_cell(one, "duration_us") if one.duration_us is None else quantities.duration(one.duration_us),
        dram,
        compute,
        label,
        *(
            null_cell(one, name) if extent is None else quantities.extent(extent)
            for name, extent in (("grid", one.grid), ("block", one.block))
        ),
    )


def _seen(block: LaunchesBlock, most: int) -> Section | None:
    if not block.table or block.status in ("skipped", "unavailable", "failed"):
        return None
    rows = tuple(
        (
            row.name,
            SIDE_NAMES[row.side],
            str(row.count),
            null_cell(block, f"table[{index}].total_us") if row.total_us is None else quantities.duration(row.total_us),
            null_cell(block, f"table[{index}].grid") if row.grid is None else quantities.extent(row.grid),
            null_cell(block, f"table[{index}].block") if row.block is None else quantities.extent(row.block),
        )
        for index, row in enumerate(block.table[:most])
    )
    left = len(block.table) - most
    notes = (f"and {left} more in the report",) if left > 0 else ()
    title = f"kernels of one call: {plural(len(block.table), 'name')}"
    return Section(title=title, tables=(Table(headers=_SEEN, rows=rows, words=(0, _OF), names=(0,)),), notes=notes)
