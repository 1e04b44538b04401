"""Runs on one GPU take turns: an advisory lock of the operating system, one a device, freed when its holder dies.

Two runs at once would be in each other's times and counters. The lock is of the whole machine, whoever's runs they are
and wherever their caches lie; containers that do not share ``/tmp`` do not see each other. On the CPU nothing is
locked: a machine may have room for many, and what others take from a run is counted there (``host_contended``).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kprof.errors import CannotMeasureError

FOLDER: Final = Path("/tmp")
"""Not TMPDIR: users have their own, and share the device."""
DEFAULT_TIMEOUT_S: Final = 1800.0
_POLL_S: Final = 0.2


@contextmanager
def turn_on(board: str, timeout_s: float, on_wait: Callable[[str], None], folder: Path = FOLDER) -> Iterator[None]:
    """Hold a device against other runs of kprof's.

    Args:
        board: its UUID, or another name that all runs have for it.
        timeout_s: how long to wait for others.
        on_wait: told, once, that somebody else holds it.
        folder: where the locks lie. Where none can be made the run goes on without.

    Raises:
        CannotMeasureError: ``device_busy``: others held it all that time.
    """
    try:
        handle = _open(folder / f".kprof-{re.sub(r'[^A-Za-z0-9-]', '_', board)}.lock")
    except OSError:
        yield
        return
    try:
        _lock(handle, board, timeout_s, on_wait)
        yield
    finally:
        # The file stays: one that is removed while another run waits for it would be two.
        os.close(handle)


def _open(path: Path) -> int:
    """The file, made where it is missing. Whoever made it, everybody may lock it: reading is enough for that."""
    with contextlib.suppress(FileExistsError):
        handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        os.fchmod(handle, 0o444)
        return handle
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _lock(handle: int, board: str, timeout_s: float, on_wait: Callable[[str], None]) -> None:
    began = time.monotonic()
    told = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if not told:
                told = True
                on_wait(board)
            if time.monotonic() - began >= timeout_s:
                raise CannotMeasureError(
                    "device_busy",
                    f"another kprof has been measuring on {board} for {timeout_s:g} s",
                    "Run them one after the other, or raise --lock-timeout.",
                ) from error
        time.sleep(_POLL_S)
