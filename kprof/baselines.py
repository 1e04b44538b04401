"""Baselines: reports kept to compare later ones with, one file each or a folder of one file a board."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from kprof.errors import InputFileError, UsageError
from kprof.files import write_whole
from kprof.report_json import decode_json, name_of, read_bytes

_NOT_IN_A_NAME: Final = re.compile(r"[^a-z0-9]+")
_MOST_NAMED: Final = 8


def read_baseline(path: Path) -> dict[str, Any]:
    """A baseline as plain values.

    Raises:
        InputFileError: missing, or no report of this version of the format.
    """
    return decode_json(read_bytes(path), f"baseline {name_of(path)}", allow_nan=True)


def board_file(folder: Path, report: dict[str, Any]) -> Path:
    """Where in ``folder`` the baseline of the report's board is: ``nvidia-h200.json``, ``cpu-amd-epyc-9r14.json``.

    Raises:
        UsageError: the report does not say which board it is from.
    """
    environment = report.get("environment")
    environment = environment if isinstance(environment, dict) else {}
    name, device = environment.get("device_name"), environment.get("device")
    if not isinstance(name, str) or not name.strip():
        raise UsageError("the report does not name the board it is from", "Give the baseline with --baseline FILE.")
    slug = _NOT_IN_A_NAME.sub("-", name.lower()).strip("-")
    return folder / f"{'cpu-' if device == 'cpu' else ''}{slug}.json"


def require_board_file(path: Path) -> None:
    """The baseline of the board is there.

    Raises:
        InputFileError: it is not; names what is.
    """
    if path.is_file():
        return
    if not path.parent.is_dir():
        raise InputFileError(f"{path.parent} is no folder; baselines were expected there", "Check --baseline-dir.")
    names = sorted(one.name for one in path.parent.glob("*.json"))
    listed = ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
    message = f"no baseline {path.name} in {path.parent}; found {listed or 'no .json file'}"
    raise InputFileError(message, "Make it on this board with kprof check --update-baseline.")


def write_baseline(path: Path, report: bytes) -> None:
    """Replace the baseline, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: the folder {path.parent} does not exist", f"mkdir -p {path.parent}")
    write_whole(path, report)
