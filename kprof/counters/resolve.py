"""From the metrics of one launch to its quantities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from kprof.counter_evidence import ProfiledLaunch
from kprof.counters.families import is_family_member, stall_cycles, stall_samples, tensor_flop
from kprof.counters.formulas import MOST, Formula, Quantity
from kprof.counters.quantities import Quantities, table

DEVICE_NAME: Final = "device__attribute_display_name"
NOT_COLLECTED: Final = "counter_not_collected"
"""Code for a quantity none of whose metrics stand in the report."""
IMPLAUSIBLE: Final = "implausible"
"""Code for a number that the quantity cannot have: half a block, a negative size."""
ZERO_DENOMINATOR: Final = "nothing_counted"
"""Code for a ratio over 0: sectors a request where nothing was requested."""


@cache
def known_names() -> frozenset[str]:
    """Every metric that some quantity reads, families left out."""
    return frozenset(name for quantity in table().values() for name in quantity.names) | {DEVICE_NAME}


def is_wanted(name: str) -> bool:
    """Analysis reads the metric of this name."""
    return name in known_names() or is_family_member(name)


@dataclass(frozen=True)
class _Layout:
    """What can be had from the metrics of these names: worked out once, for reports of thousands of launches."""

    possible: tuple[tuple[str, Quantity, tuple[Formula, ...]], ...]
    """The quantities that some metric is of, each with the formulas all of whose metrics are there."""
    never: tuple[str, ...]
    """The quantities none of whose metrics is there."""
    members: tuple[str, ...]
    """The metrics of families."""


@lru_cache(maxsize=64)
def _layout(names: tuple[str, ...], absent: tuple[str, ...]) -> _Layout:
    known, seen = frozenset(names), frozenset((*names, *absent))
    possible, never = [], []
    for name, quantity in table().items():
        if quantity.names.isdisjoint(seen):
            never.append(name)
        else:
            possible.append((name, quantity, tuple(f for f in quantity.formulas if known.issuperset(f.names))))
    return _Layout(tuple(possible), tuple(never), tuple(name for name in names if is_family_member(name)))


def resolve(launch: ProfiledLaunch) -> Quantities:
    """Every quantity that the metrics of ``launch`` allow, and for the others why not."""
    metrics = launch.metrics
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    layout = _layout(tuple(metrics), tuple(launch.absent))
    missing = dict.fromkeys(layout.never, NOT_COLLECTED)
    for name, quantity, formulas in layout.possible:
        for formula in formulas:
            value: Any = metrics[formula.names[0]] if formula.is_plain else None
            if type(value) is not float:
                value = _answer(formula, metrics)
            if value is not None:
                if quantity.allows(value):
                    values[name] = value
                    sources[name] = formula.text
                else:
                    missing[name] = IMPLAUSIBLE
                break
        else:
            missing[name] = _why(quantity.formulas, launch)
    _from_shape(launch, values, sources, missing)
    board = metrics.get(DEVICE_NAME)
    members = {name: metrics[name] for name in layout.members}
    families: dict[str, Any] = {
        "stall_cycles": stall_cycles(members, values.get("warp_cycles_per_instruction")),
        "stall_samples": stall_samples(members),
        "tensor_flop": tensor_flop(members),
    }
    for name, found in families.items():
        if any(abs(value) > MOST for value in found.values()):
            families[name], missing[name] = {}, IMPLAUSIBLE
    return Quantities(
        **values,
        **families,
        device_name=board if isinstance(board, str) else None,
        sources=sources,
        missing=missing,
    )


def _from_shape(
    launch: ProfiledLaunch, values: dict[str, Any], sources: dict[str, str], missing: dict[str, str]
) -> None:
    """Sizes of grid and block from what every report says of a launch, where their metrics are not there."""
    for name, shape in (("grid_size", launch.grid), ("block_size", launch.block)):
        size = float(math.prod(shape)) if shape is not None else 0.0
        if missing.get(name) == NOT_COLLECTED and table()[name].allows(size):
            values[name], sources[name] = size, name.replace("_", " ")
            del missing[name]


def _answer(formula: Formula, metrics: dict[str, float | str]) -> float | None:
    found = [metrics.get(name) for name in formula.names]
    if any(not isinstance(value, float) for value in found):
        return None
    value = formula.compute(*found)
    return value if value is not None and math.isfinite(value) else None


def _why(formulas: tuple[Formula, ...], launch: ProfiledLaunch) -> str:
    """The reason of the first metric that stands in the report without a value; else that none stands there."""
    for formula in formulas:
        if all(isinstance(launch.metrics.get(name), float) for name in formula.names):
            return ZERO_DENOMINATOR
        for name in formula.names:
            if name in launch.absent:
                return launch.absent[name]
    return NOT_COLLECTED
