"""The worker's end of the protocol: appends updates, marks whose code runs."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from kprof.evidence import Fault, Side, Stage
from kprof.worker.protocol import SIDE_FILE, UPDATES_FILE, Update, encode_side


class Answers:
    """Writes updates to the private file, one whole line a call, on disk before it returns."""

    def __init__(self, folder: Path) -> None:
        self._updates = os.open(folder / UPDATES_FILE, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._side = os.open(folder / SIDE_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.side: Side | None = None
        """Whose code runs."""
        self.stage: Stage = "load"
        """The stage that is running."""
        os.pwrite(self._side, encode_side(None), 0)

    def send(self, update: Update) -> None:
        """Append one update."""
        os.write(self._updates, msgspec.json.encode(update) + b"\n")

    def enter(self, stage: Stage) -> None:
        """A stage begins."""
        self.stage = stage
        self.mark(None)
        self.send(Update(entered=stage))

    def mark(self, side: Side | None) -> None:
        """Whose code runs from now on: read by the command if this process dies. Cheap enough for every sample."""
        if side != self.side:
            os.pwrite(self._side, encode_side(side), 0)
            self.side = side

    def fault(self, fault: Fault) -> None:
        """Something failed and was caught."""
        self.send(Update(fault=fault))
