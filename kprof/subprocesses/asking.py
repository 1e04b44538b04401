"""Runs a program that kprof asks a short question: bounded in time and output, and nothing of it stays behind."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kprof.errors import CannotMeasureError
from kprof.subprocesses.environment import base_environment
from kprof.subprocesses.launcher import CANNOT_START
from kprof.subprocesses.private import private_folder
from kprof.subprocesses.processes import LAUNCHER, end_group

MOST_BYTES: Final = 20_000_000


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

    It is watched as a worker is: it ends with this process, however that goes.

    Args:
        command: the program, by its path or by a name on PATH, and its arguments.
        timeout_s: the longest wait.
        environment: variables beside this process's, which goes without its secrets; ``TMPDIR`` is always a folder that
            is gone afterwards.
    """
    program = shutil.which(str(command[0]))
    if program is None:
        return None
    try:
        with private_folder() as folder:
            variables = {**base_environment(), "LC_ALL": "C", **(environment or {}), "TMPDIR": folder}
            answer = _ask((program, *map(str, command[1:])), timeout_s, variables, Path(folder) / "printed")
    except (CannotMeasureError, OSError):
        return None
    return None if answer.status == CANNOT_START and answer.output.startswith(program) else answer


def ask(path: Path, *arguments: str, limit_s: float) -> str | None:
    """What a program prints of itself; None where it cannot be started, fails, or takes too long."""
    answer = ask_program((path, *arguments), limit_s)
    return answer.output if answer is not None and answer.status == 0 else None


def _ask(command: tuple[str, ...], timeout_s: float, environment: Mapping[str, str], printed: Path) -> Answer:
    watched, life = os.pipe()
    try:
        # To a file: who holds a pipe open keeps its reader waiting, whoever has ended.
        with printed.open("wb") as stream:
            process = subprocess.Popen(
                (*LAUNCHER, str(watched), *command),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
                pass_fds=(watched,),
            )
        try:
            status: int | None = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            end_group(process)
    finally:
        os.close(watched)
        os.close(life)
    with printed.open("rb") as stream:
        return Answer(status, stream.read(MOST_BYTES).decode("utf-8", "replace"))
