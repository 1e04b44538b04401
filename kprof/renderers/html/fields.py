"""Every field of a block as a row: its value with its unit, or why it has none, and what it means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kprof.blocks.base import Block
from kprof.metrics import MetricInfo, describe
from kprof.renderers.layout import Style
from kprof.report import Blocks

_OF_ALL: Final = frozenset({"status", "reason", "source", "reasons", "warnings"})
_MOST_VALUES: Final = 8
_MOST_RECORDS: Final = 4
_LONGEST: Final = 600
_NO_UNIT: Final = frozenset({"text", "bool", "record", "count", "index", "ratio", "output"})
_INDEX: Final = re.compile(r"\[[0-9]+\]")
_STYLE: Final = Style()


@dataclass(frozen=True)
class Row:
    """One field."""

    path: str
    value: str | None
    unit: str
    meaning: str
    why: str
    """The code where there is no value."""


def rows_of(name: str, block: Block) -> tuple[Row, ...]:
    """The fields that a block adds to those that all have."""
    return tuple(_rows(block, name, "", block.reasons))


def shown(value: Any) -> str:
    """A value as text, six digits of a number."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:,.6g}" if 1e-3 <= abs(value) < 1e15 or value == 0 else f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    return _STYLE.shorten(_STYLE.clean(str(value)), _LONGEST)


def _rows(record: msgspec.Struct, name: str, prefix: str, reasons: dict[str, str]) -> Iterator[Row]:
    for field in record.__struct_fields__:
        if not prefix and field in _OF_ALL:
            continue
        path = f"{prefix}{field}"
        value = getattr(record, field)
        if isinstance(value, msgspec.Struct):
            yield from _rows(value, name, f"{path}.", reasons)
        elif _is_records(value) and len(value) <= _MOST_RECORDS:
            for index, one in enumerate(value):
                yield from _rows(one, name, f"{path}[{index}].", reasons)
        else:
            info = _info(name, path)
            unit = "" if info is None or info.unit in _NO_UNIT else info.unit
            text = None if value is None else _text(value)
            yield Row(path, text, unit, info.meaning if info else "", "" if value is not None else _why(path, reasons))


def _is_records(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], msgspec.Struct)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        if any(isinstance(one, msgspec.Struct) for one in value.values()):
            return f"{len(value)} entries, in the JSON"
        return (
            ", ".join(f"{shown(key)}: {'null' if one is None else shown(one)}" for key, one in value.items()) or "none"
        )
    if isinstance(value, tuple):
        if _is_records(value) or len(value) > _MOST_VALUES:
            return f"{len(value)} entries, in the JSON"
        return ", ".join(map(shown, value)) or "none"
    return shown(value)


def _why(path: str, reasons: dict[str, str]) -> str:
    return reasons.get(path, "null")


def _info(name: str, path: str) -> MetricInfo | None:
    return describe(Blocks).get(f"{name}.{_INDEX.sub('[]', path)}")
