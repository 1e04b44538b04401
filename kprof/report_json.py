"""A report file as plain values: what is refused before anything is made of it. Imports neither records nor numpy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from kprof.errors import InputFileError
from kprof.files import read_whole

SCHEMA_VERSION: Final = 1
STDIN: Final = Path("-")
_GIVE_ONE: Final = "Give a report: what kprof analyze or kprof import writes as JSON."
_DEPTH: Final = 64
"""Containers within one another: a report of kprof has a dozen."""
_HEAD: Final = 4096
_REPORTS_OF_NCU: Final = (b"NVR\0", b"\x28\xb5\x2f\xfd")


def read_bytes(path: Path) -> bytes:
    """The content of a report file, or of stdin where ``path`` is ``-``.

    Raises:
        InputFileError: it cannot be read.
    """
    return sys.stdin.buffer.read() if path == STDIN else read_whole(path)


def name_of(path: Path) -> str:
    """What errors call a report file."""
    return "stdin" if path == STDIN else str(path)


def decode_json(data: bytes, source: str, *, allow_nan: bool = False) -> dict[str, Any]:
    """A report as plain values, of this version of the format; nothing else about it is looked at.

    Args:
        data: the file's content.
        source: its name, for errors.
        allow_nan: read ``NaN`` and ``Infinity``, which JSON does not have and some writers write, as the floats.

    Raises:
        InputFileError: no JSON, no report, or of another version of the format.
    """
    report = _json_object(data, source, allow_nan=allow_nan)
    _require_version(report, source)
    return report


def _json_object(data: bytes, source: str, *, allow_nan: bool) -> dict[str, Any]:
    if not data.strip():
        raise InputFileError(f"{source} is empty; a report was expected", _GIVE_ONE)
    if data.startswith(_REPORTS_OF_NCU) or b'"Kernel Name"' in data[:_HEAD]:
        raise InputFileError(f"{source} is a report of Nsight Compute, not of kprof", f"kprof import {source}")
    text = data.removeprefix(b"\xef\xbb\xbf")
    try:
        head: Any = _decoded(text, allow_nan=allow_nan)
    except (ValueError, UnicodeDecodeError) as error:
        raise InputFileError(f"{source} is not JSON: {error}", _GIVE_ONE) from error
    except RecursionError as error:
        raise InputFileError(f"{source} is not a report: it is nested too deeply", _GIVE_ONE) from error
    if _is_deep(head):
        raise InputFileError(f"{source} is not a report: it is nested too deeply", _GIVE_ONE)
    if not isinstance(head, dict):
        found = "a list" if isinstance(head, list) else "a single value"
        raise InputFileError(f"{source} is not a report: it is {found}, expected an object", _GIVE_ONE)
    if "capture_version" in head:
        hint = f"kprof analyze --capture {source} makes the report from it."
        raise InputFileError(f"{source} is a capture, not a report", hint)
    return head


def _decoded(text: bytes, *, allow_nan: bool) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        if not allow_nan:
            raise
        value = json.loads(text)
        # Halves of surrogate pairs are no characters, and nothing can be written that has one.
        json.dumps(value, ensure_ascii=False).encode()
        return value


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEPTH):
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list)))
        level = [each for one in inner for each in one if isinstance(each, (dict, list))]
    return bool(level)


def _require_version(head: dict[str, Any], source: str) -> None:
    version = head.get("schema_version")
    if version is None:
        raise InputFileError(f"{source} is not a report: it has no schema_version", _GIVE_ONE)
    if version == SCHEMA_VERSION and type(version) is int:
        return
    maker = f"kprof {head['kprof_version']}" if isinstance(head.get("kprof_version"), str) else "the kprof that made it"
    newer = type(version) is int and version > SCHEMA_VERSION
    raise InputFileError(
        f"{source} is a report of schema version {version!r}; this kprof reads version {SCHEMA_VERSION}",
        f"{maker} or a later one reads it: update kprof." if newer else f"Read it with {maker}, or make it again.",
    )
