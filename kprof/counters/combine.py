"""Several launches as one: numerators and denominators are added up, percentages never averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from kprof.counters.formulas import Combine
from kprof.counters.quantities import Quantities, table

MISSING_IN_SOME: Final = "counter_missing_in_some_launches"
_WEIGHTS: Final[dict[Combine, str]] = {
    "time": "duration_ns",
    "cycles": "sm_cycles_active_avg",
    "instructions": "instructions",
    "load_sectors": "load_sectors",
    "store_sectors": "store_sectors",
}


def combine(launches: Sequence[Quantities]) -> Quantities:
    """The quantities of several launches together.

    What was not measured of each of them is missing of all: a sum over some would pass for one over all.

    Args:
        launches: at least one.

    Raises:
        ValueError: none.
    """
    if not launches:
        raise ValueError("no launches to combine")
    if len(launches) == 1:
        return launches[0]
    longest = max(launches, key=lambda one: one.duration_ns or 0.0)
    columns = dict(
        zip(Quantities.__struct_fields__, zip(*map(msgspec.structs.astuple, launches), strict=True), strict=True)
    )
    values: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for name, quantity in table().items():
        value = _combined(name, quantity.combine, columns, longest)
        if value is not None:
            values[name] = value
        else:
            codes = {one.missing[name] for one in launches if name in one.missing}
            everywhere = all(name in one.missing for one in launches)
            missing[name] = codes.pop() if everywhere and len(codes) == 1 else MISSING_IN_SOME
    return Quantities(
        **values,
        stall_cycles=_weighted_family(launches, "stall_cycles"),
        stall_samples=_summed_family(launches, "stall_samples"),
        tensor_flop=_tensor_flop(launches),
        device_name=longest.device_name,
        launches=sum(one.launches for one in launches),
        sources={name: source for name, source in longest.sources.items() if name in values},
        missing=missing,
    )


def _combined(name: str, how: Combine, columns: Mapping[str, Sequence[Any]], longest: Quantities) -> float | None:
    """One quantity of all launches; ``columns`` has each quantity's values, a launch each."""
    found = columns[name]
    if how == "most":
        value: float | None = getattr(longest, name)
        return value
    if how == "none" or None in found:
        return None
    if how == "sum":
        return float(sum(found))
    if how == "largest":
        return float(max(found))
    return _weighted(found, columns[_WEIGHTS[how]])


def _weighted(values: Sequence[float], weights: Sequence[float | None]) -> float | None:
    known = [weight for weight in weights if weight is not None]
    if len(known) < len(weights) or not sum(known):
        return None
    return sum(value * weight for value, weight in zip(values, known, strict=True)) / sum(known)


def _members(launches: Sequence[Quantities], family: str) -> list[str]:
    return list(dict.fromkeys(member for one in launches for member in getattr(one, family)))


def _summed_family(launches: Sequence[Quantities], family: str) -> dict[str, float]:
    """Each member's sum; empty where some launch has none of the family."""
    if not all(getattr(one, family) for one in launches):
        return {}
    return {name: sum(getattr(one, family).get(name, 0.0) for one in launches) for name in _members(launches, family)}


def _tensor_flop(launches: Sequence[Quantities]) -> dict[str, float]:
    """Operations by type; a launch whose tensor pipe was idle had none, counted or not."""
    if not all(one.tensor_flop or one.tensor_is_idle for one in launches):
        return {}
    counted = [one for one in launches if one.tensor_flop]
    return _summed_family(counted, "tensor_flop") if counted else {}


def _weighted_family(launches: Sequence[Quantities], family: str) -> dict[str, float]:
    """Each member's mean by instructions; empty where some launch has none of the family."""
    if not all(getattr(one, family) for one in launches):
        return {}
    weights = [one.instructions for one in launches]
    found = {
        name: _weighted([getattr(one, family).get(name, 0.0) for one in launches], weights)
        for name in _members(launches, family)
    }
    return {name: value for name, value in found.items() if value is not None}
