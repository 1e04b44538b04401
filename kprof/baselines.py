"""Baselines: reports kept to compare later ones with, one file each or a folder of one file a board."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from kprof.errors import InputFileError, UsageError
from kprof.evidence import Reason
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


def no_board_file(path: Path) -> Reason | None:
    """Why there is no baseline of the board, and what is there instead; None: there is one.

    A folder that is not there is one without a baseline: git keeps no empty folder.

    Raises:
        InputFileError: something else has the folder's name.
    """
    if path.is_file():
        return None
    folder = path.parent
    if folder.exists() and not folder.is_dir():
        raise InputFileError(f"{folder} is no folder; baselines were expected there", "Check --baseline-dir.")
    names = sorted(one.name for one in folder.glob("*.json"))
    listed = ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
    found = f"found {listed or 'no .json file'}" if folder.is_dir() else "there is no such folder"
    message = f"no baseline {path.name} in {folder}: {found}"
    return Reason(code="no_baseline", message=message, hint="On this board --update-baseline makes it.")


def write_baseline(path: Path, report: bytes) -> None:
    """Replace the baseline, whole or not at all; its folder is made at need.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {path.parent}: {error.strerror}", "Give another place.") from error
    write_whole(path, report)
