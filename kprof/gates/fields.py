"""What a report can hold, by path: read from the published schema, which carries each field's unit and direction.

The schema says the same as the records that it is made from, and is read in a hundredth of the time these take to
import.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from kprof.errors import InputFileError
from kprof.evidence import Record
from kprof.report_json import SCHEMA_VERSION
from kprof.yamlfile import dotted

Better = Literal["lower", "higher"]
Step = str | int
_SCHEMA: Final = Path(__file__).resolve().parents[1] / "schema" / f"report-v{SCHEMA_VERSION}.json"
_SCALARS: Final = frozenset({"number", "integer", "boolean", "string"})
_NEAR: Final = 0.4
_NOT_UNITS: Final = frozenset({"text", "bool", "record", "index", "count"})


class Field(Record, frozen=True, kw_only=True):
    """One value that a gate can name."""

    unit: str
    """As in the registry: ``us``, ``%``, ``ratio``, ``count``, ``bool``, ``text``."""
    better: Better | None
    kinds: frozenset[str]
    """Of JSON: ``number``, ``integer``, ``boolean``, ``string``."""
    choices: tuple[str, ...] = ()
    """The words that it can be, where they are known."""

    @property
    def is_number(self) -> bool:
        return bool(self.kinds & {"number", "integer"})

    @property
    def shown_unit(self) -> str | None:
        """The unit to write behind a value; None: numbers of this field have none."""
        return None if self.unit in _NOT_UNITS else self.unit


class NoSuchField(Exception):
    """A path that no report has.

    Args:
        problem: what is wrong with it.
        nearest: paths that were perhaps meant.
    """

    def __init__(self, problem: str, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(problem)
        self.problem, self.nearest = problem, nearest


def block_field(steps: tuple[Step, ...]) -> Field:
    """The field at ``steps``, the block's name first.

    Raises:
        NoSuchField: there is none, or a record or a list is there.
    """
    return _field("Blocks", steps)


def launch_field(steps: tuple[Step, ...]) -> Field:
    """The field at ``steps`` in one entry of ``kernels``; raises as `block_field` does."""
    return _field("KernelLaunch", steps)


@cache
def _definitions() -> dict[str, Any]:
    try:
        found: dict[str, Any] = msgspec.json.decode(_SCHEMA.read_bytes())["$defs"]
    except OSError as error:
        message = f"kprof's own file {_SCHEMA} cannot be read: {error.strerror}"
        raise InputFileError(message, "Install kprof again.") from error
    return found


def _field(record: str, steps: tuple[Step, ...]) -> Field:
    node: dict[str, Any] = {"$ref": f"#/$defs/{record}"}
    told: dict[str, Any] = {}
    for step in steps:
        below = _below(node, step)
        if below is None:
            raise NoSuchField("no report has such a field", _nearest(record, steps))
        node, told = below, {**told, **_told(below)}
    kinds, choices = _scalar_kinds(node)
    if not kinds:
        raise NoSuchField("this is no single value", tuple(_inside(node, dotted(steps))))
    return Field(unit=told.get("x-unit", "text"), better=told.get("x-better"), kinds=kinds, choices=choices)


def _told(node: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key in ("x-unit", "x-better")}


def _alternatives(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "$ref" in node:
        yield from _alternatives(_definitions()[node["$ref"].rpartition("/")[2]])
    elif "anyOf" in node:
        for one in node["anyOf"]:
            yield from _alternatives(one)
    else:
        yield node


def _below(node: dict[str, Any], step: Step) -> dict[str, Any] | None:
    for one in _alternatives(node):
        if isinstance(step, int):
            listed = one.get("prefixItems", ())
            if step < len(listed):
                return dict(listed[step])
            if isinstance(one.get("items"), dict):
                return dict(one["items"])
        elif step in one.get("properties", {}):
            return dict(one["properties"][step])
        elif isinstance(one.get("additionalProperties"), dict):
            return dict(one["additionalProperties"])
    return None


def _scalar_kinds(node: dict[str, Any]) -> tuple[frozenset[str], tuple[str, ...]]:
    kinds: set[str] = set()
    choices: list[str] = []
    for one in _alternatives(node):
        if "enum" in one:
            kinds.add("string")
            choices += one["enum"]
        elif one.get("type") in _SCALARS:
            kinds.add(one["type"])
        elif one.get("type") != "null":
            return frozenset(), ()
    return frozenset(kinds), tuple(choices)


def _nearest(record: str, steps: tuple[Step, ...]) -> tuple[str, ...]:
    """Fields whose last name is the one that was written, else those whose path is most like it."""
    known, wanted = _all_paths(record), dotted(steps)
    last = wanted.rpartition(".")[2]
    same_end = [path for path in known if wanted.endswith(f".{path}") or path.rpartition(".")[2] == last]
    return tuple(sorted(same_end, key=len)[:3] or difflib.get_close_matches(wanted, known, n=3, cutoff=_NEAR))


@cache
def _all_paths(record: str) -> tuple[str, ...]:
    return tuple(_walk({"$ref": f"#/$defs/{record}"}, ""))


def _inside(node: dict[str, Any], path: str) -> list[str]:
    return [found for _, found in zip(range(3), _walk(node, path), strict=False)]


def _walk(node: dict[str, Any], path: str) -> Iterator[str]:
    if path and _scalar_kinds(node)[0]:
        yield path
        return
    for one in _alternatives(node):
        for name, below in one.get("properties", {}).items():
            if name not in ("reason", "reasons", "warnings"):
                yield from _walk(below, f"{path}.{name}" if path else name)
        for index, below in enumerate(one.get("prefixItems", ())):
            yield from _walk(below, f"{path}[{index}]")
        if isinstance(one.get("items"), dict):
            yield from _walk(one["items"], f"{path}[0]")
