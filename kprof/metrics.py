"""The registry: what each field of a report means, in which unit, which way is better, and where it comes from.

A field is declared once, where its record is: ``Annotated[float | None, metric("us", "...", better="lower",
source="...")]``. The JSON Schema, the gates and the comparison read the same declaration.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import msgspec

from kprof.evidence import Record

Better = Literal["lower", "higher"]

SUFFIX_UNITS: Final = {
    "_us": "us",
    "_mb": "MB",
    "_bytes": "bytes",
    "_pct": "%",
    "_gbs": "GB/s",
    "_tflops": "TFLOP/s",
    "_flop": "FLOP",
    "_mhz": "MHz",
    "_cycles": "cycles",
    "_ratio": "ratio",
    "_w": "W",
    "_c": "Celsius",
    "_count": "count",
    "seconds": "s",
}
"""What the end of a field's name says of its unit. MB is 1e6 bytes, GB/s 1e9 bytes a second."""

_NOT_NUMBERS: Final = frozenset({"text", "bool", "record"})
UNITS: Final = frozenset(
    {*SUFFIX_UNITS.values(), *_NOT_NUMBERS, "FLOP/byte", "cycles/instruction", "sectors/request", "index", "output"}
)
"""Every unit there is. ``output``: the unit of the kernel's own results; ``index``: a position or a name in digits."""


class MetricInfo(Record, frozen=True, kw_only=True):
    """What the registry knows of one field."""

    unit: str
    meaning: str
    better: Better | None
    source: str
    """What it is measured with or computed from."""
    numeric: bool


def metric(unit: str, meaning: str, *, better: Better | None = None, source: str) -> msgspec.Meta:
    """The declaration of one field, to stand inside ``Annotated``.

    Args:
        unit: one of `UNITS`.
        meaning: one phrase, no full stop.
        better: which way is an improvement; None where neither is.
        source: what it is measured with or computed from.

    Raises:
        ValueError: a unit that does not exist.
    """
    if unit not in UNITS:
        raise ValueError(f"unit {unit!r} is not one of {sorted(UNITS)}")
    told = {"unit": unit, "better": better, "source": source}
    in_unit = "" if unit in _NOT_NUMBERS else f" Unit: {unit}."
    return msgspec.Meta(
        description=f"{meaning}.{in_unit} Source: {source}.",
        extra={**told, "meaning": meaning},
        extra_json_schema={f"x-{key}": value for key, value in told.items() if value is not None},
    )


@cache
def describe(record: type[msgspec.Struct]) -> dict[str, MetricInfo]:
    """Every declared field of ``record`` and of the records in it, by dotted path.

    A list adds ``[]`` to the path, a map ``.*``: ``kernels[].duration_us``, ``samples_us.*.kernel``.

    Raises:
        TypeError: a number that nobody declared, or a declared unit that the field's name contradicts.
    """
    return dict(_walk(record, ""))


def _walk(record: type[msgspec.Struct], prefix: str) -> Iterator[tuple[str, MetricInfo]]:
    for name, hint in typing.get_type_hints(record, include_extras=True).items():
        if get_origin(hint) is typing.ClassVar:
            continue
        path = f"{prefix}{name}"
        info = _declared(hint)
        if info is None and _is_numeric(hint):
            raise TypeError(f"{record.__name__}.{name} is a number without a unit; declare it with metric()")
        if info is not None:
            _check_suffix(record, name, info)
            yield path, info
        for marker, inner in _records_in(hint):
            yield from _walk(inner, f"{path}{marker}.")


def _declared(hint: Any) -> MetricInfo | None:
    if get_origin(hint) is not Annotated:
        return None
    for meta in hint.__metadata__:
        if isinstance(meta, msgspec.Meta) and meta.extra is not None and "unit" in meta.extra:
            return MetricInfo(**meta.extra, numeric=_is_numeric(hint))
    return None


def _check_suffix(record: type[msgspec.Struct], name: str, info: MetricInfo) -> None:
    for suffix, unit in SUFFIX_UNITS.items():
        if name.endswith(suffix) and info.numeric and info.unit != unit:
            raise TypeError(f"{record.__name__}.{name} declares {info.unit}; its name says {unit}")


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """The types in a union, or the type itself; ``None`` and ``Annotated`` taken off."""
    if get_origin(hint) is Annotated:
        return _alternatives(get_args(hint)[0])
    if get_origin(hint) in (types.UnionType, typing.Union):
        return tuple(inner for arg in get_args(hint) for inner in _alternatives(arg) if arg is not type(None))
    return (hint,)


def _items(hint: Any) -> tuple[str, tuple[Any, ...]] | None:
    """Path marker and item types of a tuple or a map."""
    if get_origin(hint) is tuple:
        return "[]", tuple(arg for arg in get_args(hint) if arg is not Ellipsis)
    if get_origin(hint) is dict:
        return ".*", get_args(hint)[1:]
    return None


def _is_numeric(hint: Any) -> bool:
    """A number, or a list or map of numbers; a value that may be text as well has no unit."""
    alternatives = _alternatives(hint)
    for one in () if str in alternatives else alternatives:
        if one in (int, float):
            return True
        items = _items(one)
        if items is not None and any(map(_is_numeric, items[1])):
            return True
    return False


def _records_in(hint: Any) -> Iterator[tuple[str, type[msgspec.Struct]]]:
    for one in _alternatives(hint):
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            yield "", one
            continue
        items = _items(one)
        for item in items[1] if items else ():
            marker = items[0] if items else ""
            yield from ((f"{marker}{deeper}", inner) for deeper, inner in _records_in(item))
