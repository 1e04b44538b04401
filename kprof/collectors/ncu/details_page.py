"""The details page: a metric a row, under a display label, or under its name where it was asked for by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kprof.collectors.ncu.labels import metric_of_label
from kprof.collectors.ncu.launch_columns import LaunchColumns, cell
from kprof.collectors.ncu.numbers import parse_cell, text_or_absence
from kprof.collectors.ncu.troubles import Troubles
from kprof.collectors.ncu.units import needs_no_unit, unit_of
from kprof.counter_evidence import CounterFormat, MetricAbsence, ProfiledLaunch
from kprof.counters.resolve import DEVICE_NAME, is_wanted

_SECTION: Final = "Section Name"
_METRIC: Final = "Metric Name"
_UNIT: Final = "Metric Unit"
_VALUE: Final = "Metric Value"


@dataclass
class _Group:
    """The rows of one launch, as they come."""

    row: Sequence[str]
    first: tuple[str, str]
    """Section and metric of the first row: when it comes again, another launch has begun."""
    metrics: dict[str, float | str] = field(default_factory=dict)
    absent: dict[str, MetricAbsence] = field(default_factory=dict)
    by_name: set[str] = field(default_factory=set)
    """Metrics whose value stood under their own name, which a label does not overrule."""


def is_details(header: Sequence[str]) -> bool:
    """The header is that of a details page."""
    names = {name.strip() for name in header}
    return _METRIC in names and _VALUE in names


class DetailsPage:
    """Reads the rows under one header and gathers those of each launch, whatever their order."""

    format: CounterFormat = "ncu_csv_details"

    def __init__(self, header: Sequence[str], columns: LaunchColumns, troubles: Troubles) -> None:
        self._columns = columns
        self._troubles = troubles
        names = [name.strip() for name in header]
        self._section = names.index(_SECTION) if _SECTION in names else -1
        self._metric = names.index(_METRIC)
        self._unit = names.index(_UNIT) if _UNIT in names else -1
        self._value = names.index(_VALUE)
        self._groups: list[_Group] = []
        self._open: dict[tuple[str, ...], _Group] = {}

    def is_units(self, row: Sequence[str]) -> bool:
        """There is no row of units: each row has its own."""
        return False

    def set_units(self, row: Sequence[str]) -> None:
        """Nothing to set."""

    def add(self, row: Sequence[str]) -> None:
        """Read one metric of one launch; rows of rules, which have no metric, tell only that the launch exists."""
        if len(row) <= max(self._value, self._unit, self._metric):
            # Cut before its launch is told for sure: the device may be missing.
            columns = self._columns
            self._troubles.broken_row(row[columns.launch_id], len(row), columns.width)
            return
        section, metric = cell(row, self._section).strip(), row[self._metric].strip()
        group = self._group(row, (section, metric))
        if metric:
            self._read(group, section, metric, row)

    def finish(self) -> list[ProfiledLaunch]:
        """The launches, in the order of their first rows."""
        return [self._columns.launch(group.row, group.metrics, group.absent) for group in self._groups]

    def _group(self, row: Sequence[str], first: tuple[str, str]) -> _Group:
        columns = self._columns
        process, device = cell(row, columns.process_id), cell(row, columns.device)
        key = (row[columns.launch_id].strip(), process, device, row[columns.name])
        group = self._open.get(key)
        if group is None or (group.first == first and first[1]):
            group = self._open[key] = _Group(row=list(row), first=first)
            self._groups.append(group)
        return group

    def _read(self, group: _Group, section: str, metric: str, row: Sequence[str]) -> None:
        name = _own_name(metric)
        named = name is not None
        unit = row[self._unit] if self._unit >= 0 else None
        if name is None:
            name = metric_of_label(section, metric, unit, cell(row, self._columns.compute_capability).strip())
        if name is None or name in group.by_name or (not named and name in group.metrics):
            return
        value, absence = self._value_of(name, unit, row[self._value])
        if value is not None:
            group.metrics[name] = value
            group.absent.pop(name, None)
            if named:
                group.by_name.add(name)
        elif absence is not None and name not in group.metrics:
            group.absent[name] = absence

    def _value_of(self, name: str, unit: str | None, text: str) -> tuple[float | str | None, MetricAbsence | None]:
        if name == DEVICE_NAME:
            return text_or_absence(text)
        number = parse_cell(text)
        if isinstance(number, str):
            if number == "unparsable":
                self._troubles.unparsable(name, text)
            return None, number
        if unit is None:
            if needs_no_unit(name):
                return number, None
            self._troubles.no_unit(name)
            return None, "unknown_unit"
        known = unit_of(name, unit)
        if known is None:
            self._troubles.unknown_unit(name, unit)
            return None, "unknown_unit"
        return number * known.factor, None


def _own_name(metric: str) -> str | None:
    """The metric that a row names: alone, or behind its label (``--print-metric-name label-name``)."""
    if is_wanted(metric):
        return metric
    _, _, last = metric.rpartition(" ")
    last = last.strip("()[]")
    return last if is_wanted(last) else None
