"""The private folder of a worker, and the removal of those whose command was killed."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from kprof.errors import CannotMeasureError
from kprof.subprocesses.processes import process_stat

_PREFIX: Final = "kprof-"
_OWNER_FILE: Final = "owner"
_MOST_ENTRIES: Final = 20_000
"""Entries of the temporary folder that are looked at: a crowded one must not delay a run."""


def private_folder() -> tempfile.TemporaryDirectory[str]:
    """A fresh folder that only this user can read, marked as this process's. Those of dead processes are removed.

    Raises:
        CannotMeasureError: no folder for temporary files can be written.
    """
    try:
        _sweep(Path(tempfile.gettempdir()))
        folder = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
        owner = _owner(os.getpid())
        if owner is not None:
            (Path(folder.name) / _OWNER_FILE).write_text(owner)
    except OSError as error:
        raise no_temporary_folder(error) from error
    return folder


def no_temporary_folder(error: OSError) -> CannotMeasureError:
    """The error for a private folder that cannot be made or written."""
    return CannotMeasureError(
        "no_temporary_folder",
        f"no temporary folder can be written: {error.strerror or error}",
        "Point TMPDIR at a folder that can be written and has room.",
    )


def _owner(pid: int) -> str | None:
    """Names a process for good: its id and start, in which process namespace, since which start of which machine.

    A folder may be shared by machines or containers, whose processes are not to be judged from here.
    """
    stat = process_stat(pid)
    if stat is None or stat.ended:
        return None
    return f"{pid} {stat.start} {_place()}"


def _place() -> str:
    namespace = Path("/proc/self/ns/pid").readlink()
    return f"{namespace} {Path('/proc/sys/kernel/random/boot_id').read_text().strip()}"


def _sweep(temporary: Path) -> None:
    """Remove this user's private folders whose owner is dead."""
    with os.scandir(temporary) as entries:
        ours = [
            Path(entry.path)
            for entry in itertools.islice(entries, _MOST_ENTRIES)
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False)
        ]
    for folder in ours:
        if _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    """It is this user's, and its owner lived where we do and is dead. Without an owner's mark nobody knows."""
    try:
        mark = (folder / _OWNER_FILE).read_text()
        pid, _, place = mark.split(" ", 2)
        return folder.stat().st_uid == os.getuid() and place == _place() and _owner(int(pid)) != mark
    except (OSError, ValueError):
        return False
