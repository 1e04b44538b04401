"""A worker that waits for the command: to be let go on, or to be let on a device that runs take turns on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from kprof.worker.answers import Answers
from kprof.worker.protocol import TURN_FILE, Update

_POLL_S: Final = 0.01


def wait_for(file: Path) -> None:
    """Until the command has made it. A command that is gone ends this process."""
    while not file.exists():
        time.sleep(_POLL_S)


def wait_for_turn(board: str, answers: Answers, folder: Path) -> None:
    """Ask to be let on a device; to be called before anything but its name has been asked of it.

    Args:
        board: its UUID, or another name that all runs have for it.
        answers: where it is asked.
        folder: the private folder.
    """
    answers.send(Update(waits_for=board))
    wait_for(folder / TURN_FILE)
