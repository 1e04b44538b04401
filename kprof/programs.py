"""Runs a program that kprof asks a short question: bounded in time and output, and nothing of it stays behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 20_000_000
_REAP_S: Final = 5.0


@dataclass(frozen=True)
class Answer:
    """What came of one program."""

    status: int | None
    """Its exit status, negative for a signal; None: its time was up, and it was ended."""
    output: str
    """What it printed, stdout and stderr together, at most `MOST_BYTES` of it."""


def ask_program(
    command: Sequence[str | Path], timeout_s: float, environment: Mapping[str, str] | None = None
) -> Answer | None:
    """Run a program in a process group of its own, to its end or to the end of its time; None: it does not start,
    or no temporary file can be written.

    Args:
        command: the program and its arguments.
        timeout_s: the longest wait.
        environment: variables beside this process's; ``TMPDIR`` is always a folder that is gone afterwards.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="kprof-ask-", ignore_cleanup_errors=True) as folder:
            return _ask(command, timeout_s, {**(environment or {}), "TMPDIR": folder}, Path(folder) / "printed")
    except OSError:
        return None


def _ask(command: Sequence[str | Path], timeout_s: float, environment: Mapping[str, str], printed: Path) -> Answer:
    # To a file: who holds a pipe open keeps its reader waiting, whoever has ended.
    with printed.open("wb") as stream:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C", **environment},
            start_new_session=True,
        )
    try:
        status: int | None = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        status = None
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_REAP_S)
    with printed.open("rb") as stream:
        return Answer(status, stream.read(MOST_BYTES).decode("utf-8", "replace"))
