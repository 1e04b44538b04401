"""Launches that a file says twice: counted once where they agree.

ncu numbers the launches of a report, so in one table number, process, device and name are those of one launch. Tables
may have been put behind each other, with their headers or without: launches that have the same metrics and other values
are those of a further run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from kprof.collectors.ncu.troubles import Troubles
from kprof.counter_evidence import ProfiledLaunch
from kprof.errors import InputFileError

_HINT: Final = "Export the table again: `ncu --import run.ncu-rep --csv --page raw > run.csv`."

_COMPARED: Final = 16
"""Launches of one number that another is held against: a file of nothing else must not take the square of its rows."""


def of_one_table(launches: Iterable[ProfiledLaunch], source: str, troubles: Troubles) -> list[ProfiledLaunch]:
    """Each launch once, with the metrics of all its rows, in the order of the first ones.

    Raises:
        InputFileError: rows of one launch have two values of one metric.
    """
    kept: list[ProfiledLaunch] = []
    places: dict[tuple[object, ...], list[int]] = {}
    for launch in launches:
        all_alike = places.setdefault(_identity(launch), [])
        alike = all_alike[-_COMPARED:]
        same = next((place for place in alike if _contradiction(kept[place], launch) is None), None)
        if same is not None:
            kept[same] = _together(kept[same], launch)
            troubles.repeated(launch.launch_id)
            continue
        for place in alike:
            _refuse_half_a_launch(kept[place], launch, source)
        if alike:
            troubles.number_again(launch.launch_id)
        all_alike.append(len(kept))
        kept.append(launch)
    return kept


def of_all_tables(launches: Iterable[ProfiledLaunch], troubles: Troubles) -> list[ProfiledLaunch]:
    """The launches of tables behind each other, without those of a table that stands there again."""
    kept: list[ProfiledLaunch] = []
    seen: dict[tuple[object, ...], list[ProfiledLaunch]] = {}
    for launch in launches:
        alike = seen.setdefault(_identity(launch), [])
        if launch.metrics and launch in alike[-_COMPARED:]:
            troubles.repeated(launch.launch_id)
        else:
            alike.append(launch)
            kept.append(launch)
    return kept


def _identity(launch: ProfiledLaunch) -> tuple[object, ...]:
    return launch.launch_id, launch.process_id, launch.device, launch.name


def _contradiction(one: ProfiledLaunch, other: ProfiledLaunch) -> str | None:
    """A metric with two values; None: there is none."""
    return next((name for name, value in other.metrics.items() if one.metrics.get(name, value) != value), None)


def _refuse_half_a_launch(one: ProfiledLaunch, other: ProfiledLaunch, source: str) -> None:
    name = _contradiction(one, other)
    if name is None or _named(one) == _named(other):
        return
    values = f"{name} is {one.metrics[name]} and {other.metrics[name]}"
    raise InputFileError(f"{source} says launch {one.launch_id} twice, and not the same: {values}", _HINT)


def _named(launch: ProfiledLaunch) -> set[str]:
    return {*launch.metrics, *launch.absent}


def _together(one: ProfiledLaunch, other: ProfiledLaunch) -> ProfiledLaunch:
    metrics = {**other.metrics, **one.metrics}
    absent = {name: why for name, why in {**other.absent, **one.absent}.items() if name not in metrics}
    return msgspec.structs.replace(one, metrics=metrics, absent=absent)
