"""Asks a program about itself: what it prints, in bounded time, with nothing left behind."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kprof.errors import CannotMeasureError
from kprof.subprocesses.environment import base_environment
from kprof.subprocesses.private import private_folder
from kprof.subprocesses.processes import LAUNCHER, end_group

_MOST_BYTES: Final = 20_000_000


def ask(path: Path, *arguments: str, limit_s: float, environment: Mapping[str, str] | None = None) -> str | None:
    """What a program prints; None where it cannot be started, fails, or takes too long.

    Args:
        path: the program.
        arguments: what it is asked.
        limit_s: longest wait, in seconds.
        environment: variables beside the caller's.
    """
    # To a file: who holds a pipe open keeps its reader waiting, whoever has ended.
    with contextlib.suppress(CannotMeasureError, OSError), private_folder() as name:
        folder = Path(name)
        printed = folder / "printed"
        status = _run((str(path), *arguments), printed, limit_s, {"TMPDIR": name, "LC_ALL": "C", **(environment or {})})
        if status == 0:
            with printed.open("rb") as stream:
                return stream.read(_MOST_BYTES).decode("utf-8", "replace")
    return None


def _run(command: tuple[str, ...], printed: Path, limit_s: float, environment: Mapping[str, str]) -> int | None:
    """Its exit status; None where its time was up. It is watched: it ends with this process, however that goes."""
    watched, life = os.pipe()
    try:
        with printed.open("wb") as stream:
            process = subprocess.Popen(
                (*LAUNCHER, str(watched), *command),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**base_environment(), **environment},
                start_new_session=True,
                pass_fds=(watched,),
            )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            end_group(process)
    finally:
        os.close(watched)
        os.close(life)
