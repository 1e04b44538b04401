"""A report read back from its file: strict about what it holds, lenient about what another kprof adds or lacks.

A value of the wrong type is an error that names its place. A field this kprof does not know is left out, one that the
report lacks is null with the reason `NOT_IN_REPORT`, and both are told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import inspect

from kprof.blocks.base import Absence, Block, absent_block
from kprof.errors import InputFileError
from kprof.evidence import Reason
from kprof.report import Report
from kprof.report_json import decode_json, name_of, read_bytes

NOT_IN_REPORT: Final = "not_in_report"
"""Code of a null that stands for a field which the report, made by another kprof, does not have."""
_MOST_NAMED: Final = 5


def load_report(path: Path) -> tuple[Report, tuple[Reason, ...]]:
    """Read a report file, or stdin where ``path`` is ``-``; see `decode_report`."""
    return decode_report(read_bytes(path), name_of(path))


def decode_report(data: bytes, source: str) -> tuple[Report, tuple[Reason, ...]]:
    """Read a report.

    Args:
        data: the file's content.
        source: its name, for errors.

    Returns:
        The report, and what to know of it where another kprof made it.

    Raises:
        InputFileError: no JSON, no report, of another version of the format, or with a value of the wrong type.
    """
    head = decode_json(data, source)
    try:
        return msgspec.convert(head, Report), ()
    except msgspec.ValidationError:
        pass
    mended = _Mended()
    try:
        return msgspec.convert(mended.value(head, inspect.type_info(Report), "$"), Report), mended.notes(head, source)
    except msgspec.ValidationError as error:
        raise InputFileError(f"{source}: {error}", "Make the report again; kprof schema says what it holds.") from error


@dataclass
class _Mended:
    """A report as plain values, made to fit this kprof's records.

    Attributes:
        unknown: paths of fields that were left out.
        absent: paths of fields that were not there.
    """

    unknown: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    def value(self, value: Any, kind: inspect.Type, path: str) -> Any:
        """``value`` with what ``kind`` does not know left out and what can be null filled in; else as it is."""
        while isinstance(kind, inspect.Metadata):
            kind = kind.type
        if isinstance(kind, inspect.UnionType):
            kind = next((one for one in kind.types if _holds(one, value)), kind)
        if isinstance(kind, inspect.StructType) and isinstance(value, dict):
            return self._record(value, kind, path)
        if isinstance(kind, inspect.VarTupleType) and isinstance(value, list):
            return [self.value(item, kind.item_type, f"{path}[{index}]") for index, item in enumerate(value)]
        if isinstance(kind, inspect.DictType) and isinstance(value, dict):
            return {key: self.value(item, kind.value_type, f"{path}.{key}") for key, item in value.items()}
        return value

    def _record(self, value: dict[str, Any], kind: inspect.StructType, path: str) -> dict[str, Any]:
        fields = {one.encode_name: one for one in kind.fields}
        self.unknown += [f"{path}.{name}" for name in value if name not in fields]
        made = {
            name: self.value(value[name], one.type, f"{path}.{name}") for name, one in fields.items() if name in value
        }
        for name, one in fields.items():
            if name not in made and one.required and (absent := _absent(one.type)) is not None:
                self.absent.append(f"{path}.{name}")
                made[name] = absent()
            if name not in value and made.get(name) is None and isinstance(made.get("reasons"), dict):
                made["reasons"] = {name: NOT_IN_REPORT, **made["reasons"]}
        return made

    def notes(self, head: dict[str, Any], source: str) -> tuple[Reason, ...]:
        """What was left out and what was not there."""
        maker = head.get("kprof_version", "another")
        told = (
            ("unknown_fields", self.unknown, "that this kprof does not know and leaves out", "Update kprof."),
            ("absent_fields", self.absent, "too few, which count as not measured", "Make the report again."),
        )
        return tuple(
            Reason(code=code, message=f"{source}, of kprof {maker}, has {_counted(paths)} {what}", hint=hint)
            for code, paths, what, hint in told
            if paths
        )


def _counted(paths: list[str]) -> str:
    named = ", ".join(paths[:_MOST_NAMED]) + (", ..." if len(paths) > _MOST_NAMED else "")
    return f"{len(paths)} field{'' if len(paths) == 1 else 's'} ({named})"


def _holds(kind: inspect.Type, value: Any) -> bool:
    if isinstance(value, dict):
        return isinstance(kind, (inspect.StructType, inspect.DictType))
    return isinstance(value, list) and isinstance(kind, inspect.VarTupleType)


def _absent(kind: inspect.Type) -> Callable[[], Any] | None:
    """What stands for a field that is not there: null where that is allowed, of a block one that was not measured."""
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.UnionType) and kind.includes_none:
        return lambda: None
    if isinstance(kind, inspect.StructType) and issubclass(kind.cls, Block):
        block, reason = kind.cls, Reason(code=NOT_IN_REPORT, message="the kprof that made the report has no such block")
        return lambda: msgspec.to_builtins(
            absent_block(block, Absence(status="unavailable", reason=reason), "kprof"), str_keys=True
        )
    return None
