"""The columns that say which launch a row is of; pages have them in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kprof.collectors.ncu.numbers import parse_integer, parse_triple
from kprof.collectors.ncu.sides import for_samples_in_cell, side_of_cell
from kprof.counter_evidence import MetricAbsence, ProfiledLaunch

_RANGES: Final = ("Push/Pop_Range", "Start/Stop_Range")
_AXES: Final = "xyz"

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class LaunchColumns:
    """Where the header has them; -1 where it has not.

    Attributes:
        width: cells of the header.
        grid_axes: columns of the three sizes, for releases that have no column "Grid Size".
        ranges: columns of NVTX ranges, which exist where ncu ran with ``--nvtx``.
    """

    width: int
    launch_id: int
    name: int
    process_id: int
    device: int
    grid: int
    block: int
    compute_capability: int
    grid_axes: Triple
    block_axes: Triple
    ranges: tuple[int, ...]

    def launch(
        self, row: Sequence[str], metrics: dict[str, float | str], absent: dict[str, MetricAbsence]
    ) -> ProfiledLaunch:
        """The launch of a row that `is_launch`, with its metrics."""
        ranges = " ".join(row[column] for column in self.ranges if column < len(row))
        return ProfiledLaunch(
            launch_id=int(row[self.launch_id]),
            process_id=parse_integer(cell(row, self.process_id)),
            device=parse_integer(cell(row, self.device)),
            side=side_of_cell(ranges),
            samples_only=for_samples_in_cell(ranges),
            name=row[self.name],
            grid=self._size(row, self.grid, self.grid_axes),
            block=self._size(row, self.block, self.block_axes),
            compute_capability=cell(row, self.compute_capability).strip() or None,
            metrics=metrics,
            absent=absent,
        )

    def is_launch(self, row: Sequence[str]) -> bool:
        """The row belongs to a launch: it reaches to the kernel's name, and what must be a whole number is one."""
        if len(row) <= max(self.launch_id, self.name) or parse_integer(row[self.launch_id]) is None:
            return False
        others = (cell(row, self.process_id), cell(row, self.device))
        return all(not text.strip() or parse_integer(text) is not None for text in others)

    def _size(self, row: Sequence[str], column: int, axes: Triple) -> Triple | None:
        found = parse_triple(cell(row, column))
        if found is not None or min(axes) < 0:
            return found
        x, y, z = (parse_integer(cell(row, axis).replace(",", "")) for axis in axes)
        return None if x is None or y is None or z is None else (x, y, z)


def cell(row: Sequence[str], column: int) -> str:
    """The cell; nothing where the header has no such column or the row ends before it."""
    return row[column] if 0 <= column < len(row) else ""


def launch_columns(header: Sequence[str]) -> LaunchColumns | None:
    """The columns of a header; None where the row is none. Columns are told by name, wherever they stand."""
    places: dict[str, int] = {}
    for column, name in enumerate(header):
        places.setdefault(name.strip(), column)
    if "ID" not in places or "Kernel Name" not in places:
        return None
    return LaunchColumns(
        width=len(header),
        launch_id=places["ID"],
        name=places["Kernel Name"],
        process_id=places.get("Process ID", -1),
        device=places.get("Device", -1),
        grid=places.get("Grid Size", -1),
        block=places.get("Block Size", -1),
        compute_capability=places.get("CC", -1),
        grid_axes=_axes(places, "launch__grid_dim"),
        block_axes=_axes(places, "launch__block_dim"),
        ranges=tuple(place for name, place in places.items() if any(part in name for part in _RANGES)),
    )


def _axes(places: dict[str, int], stem: str) -> Triple:
    x, y, z = (places.get(f"{stem}_{axis}", -1) for axis in _AXES)
    return (x, y, z)
