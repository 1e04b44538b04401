"""Tables of ncu in text, whichever page they are of: `RawPage` or `DetailsPage` reads what is under a header."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kprof.collectors.ncu.csv_rows import Line, split_rows
from kprof.collectors.ncu.details_page import DetailsPage, is_details
from kprof.collectors.ncu.launch_columns import LaunchColumns, launch_columns
from kprof.collectors.ncu.raw_page import RawPage
from kprof.collectors.ncu.repeats import of_all_tables, of_one_table
from kprof.collectors.ncu.troubles import Troubles, shortened
from kprof.counter_evidence import CountersEvidence, ProfiledLaunch
from kprof.errors import InputFileError

EXPORT_HINT: Final = "Export the table with `ncu --import run.ncu-rep --csv --page raw > run.csv`."


def read_csv_text(lines: Iterable[str], source: str) -> CountersEvidence:
    """What a table of ncu in text holds; no launches where a header has no rows.

    Args:
        lines: with or without their ends, noise and all.
        source: what they are of, for messages: a path, "the output of ncu".

    Raises:
        InputFileError: no line is the header of a table of ncu, or a table says a launch twice with other values.
    """
    reader = _Reader()
    for line in split_rows(lines):
        reader.take(line)
    return reader.evidence(source)


class _Reader:
    def __init__(self) -> None:
        self._troubles = Troubles()
        self._pages: list[RawPage | DetailsPage] = []
        self._columns: LaunchColumns | None = None
        self._lines = 0
        self._first_line = ""

    def take(self, line: Line) -> None:
        """Read a header, a row of units or a row of a launch; count what is none of them."""
        self._lines += 1
        self._first_line = self._first_line or shortened(line.text)
        if self._add(line):
            return
        columns = launch_columns(line.cells)
        if columns is None:
            self._troubles.noise(line.text)
        else:
            self._open(line, columns)

    def evidence(self, source: str) -> CountersEvidence:
        """All that was read.

        Raises:
            InputFileError: there was no table, or one contradicts itself.
        """
        if not self._pages:
            found = f"none of its {self._lines} lines" if self._lines else "it is empty, so no line"
            first = f" (the first: {self._first_line})" if self._first_line else ""
            raise InputFileError(
                f"{source} holds no table of Nsight Compute: {found} has the columns ID and Kernel Name{first}",
                EXPORT_HINT,
            )
        launches: list[ProfiledLaunch] = []
        for page in self._pages:
            launches.extend(of_one_table(page.finish(), source, self._troubles))
        once = of_all_tables(launches, self._troubles) if len(self._pages) > 1 else launches
        return CountersEvidence(format=self._pages[0].format, launches=tuple(once), warnings=self._troubles.reasons())

    def _open(self, line: Line, columns: LaunchColumns) -> None:
        if self._pages:
            self._troubles.further_table(line.number)
        self._columns = columns
        kind = DetailsPage if is_details(line.cells) else RawPage
        self._pages.append(kind(line.cells, columns, self._troubles))

    def _add(self, line: Line) -> bool:
        """Hand the row to the page; False where it is none."""
        if self._columns is None or not line.cells:
            return False
        page, columns = self._pages[-1], self._columns
        if columns.is_launch(line.cells):
            page.add(line.cells)
        elif page.is_units(line.cells):
            page.set_units(line.cells)
        else:
            return False
        return True
