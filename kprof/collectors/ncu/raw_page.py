"""The raw page: a launch a row, a metric a column, the units in a row of their own under the header."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kprof.collectors.ncu.launch_columns import LaunchColumns, cell
from kprof.collectors.ncu.numbers import parse_cell, text_or_absence
from kprof.collectors.ncu.troubles import Troubles
from kprof.collectors.ncu.units import needs_no_unit, unit_of
from kprof.counter_evidence import CounterFormat, MetricAbsence, ProfiledLaunch
from kprof.counters.resolve import DEVICE_NAME, is_wanted

_REMEMBERED: Final = 1 << 16
"""Cells whose number is remembered at most: most cells of a report are ``0``, and many repeat."""


class RawPage:
    """Reads the rows under one header. Only wanted metrics are looked at; their names are read once."""

    format: CounterFormat = "ncu_csv_raw"

    def __init__(self, header: Sequence[str], columns: LaunchColumns, troubles: Troubles) -> None:
        self._columns = columns
        self._troubles = troubles
        self._launches: list[ProfiledLaunch] = []
        names = {name.strip(): column for column, name in reversed(list(enumerate(header)))}
        self._text_column = names.pop(DEVICE_NAME, -1)
        self._wanted = [(column, name) for name, column in names.items() if is_wanted(name)]
        self._factors = [1.0 if needs_no_unit(name) else None for _, name in self._wanted]
        self._units: list[str] | None = None
        self._numbers: dict[str, float | MetricAbsence] = {}

    def is_units(self, row: Sequence[str]) -> bool:
        """The row has the header's width and says neither which launch nor which kernel it is of."""
        columns = self._columns
        return len(row) == columns.width and not row[columns.launch_id].strip() and not row[columns.name].strip()

    def set_units(self, row: Sequence[str]) -> None:
        """The units of the rows from here on."""
        self._units = [row[column] for column, _ in self._wanted]
        units = [unit_of(name, unit) for (_, name), unit in zip(self._wanted, self._units, strict=True)]
        self._factors = [None if unit is None else unit.factor for unit in units]

    def add(self, row: Sequence[str]) -> None:
        """Read the row of one launch. A row that does not fit the header keeps the launch, without its values."""
        columns = self._columns
        while len(row) > columns.width and not row[-1]:
            row = row[:-1]
        metrics: dict[str, float | str] = {}
        absent: dict[str, MetricAbsence] = {}
        if len(row) == columns.width:
            self._read(row, metrics, absent)
        else:
            self._troubles.broken_row(row[columns.launch_id], len(row), columns.width)
            absent.update((name, "unparsable") for _, name in self._wanted)
        self._launches.append(columns.launch(row, metrics, absent))

    def finish(self) -> list[ProfiledLaunch]:
        """The launches, in the order of their rows."""
        return self._launches

    def _read(self, row: Sequence[str], metrics: dict[str, float | str], absent: dict[str, MetricAbsence]) -> None:
        remembered = self._numbers
        for place, (column, name) in enumerate(self._wanted):
            text = row[column]
            number = remembered.get(text)
            if number is None:
                number = self._number(text)
            factor = self._factors[place]
            if isinstance(number, float) and factor is not None:
                metrics[name] = number * factor
            else:
                absent[name] = self._why(place, text, number)
        if self._text_column >= 0:
            value, absence = text_or_absence(cell(row, self._text_column))
            if value is not None:
                metrics[DEVICE_NAME] = value
            elif absence is not None:
                absent[DEVICE_NAME] = absence

    def _number(self, text: str) -> float | MetricAbsence:
        if len(self._numbers) >= _REMEMBERED:
            self._numbers.clear()
        number = self._numbers[text] = parse_cell(text)
        return number

    def _why(self, place: int, text: str, number: float | MetricAbsence) -> MetricAbsence:
        """Why there is no value: the cell says so, or its unit is not known."""
        name = self._wanted[place][1]
        if isinstance(number, str):
            if number == "unparsable":
                self._troubles.unparsable(name, text)
            return number
        if self._units is None:
            self._troubles.no_unit(name)
        else:
            self._troubles.unknown_unit(name, self._units[place])
        return "unknown_unit"
