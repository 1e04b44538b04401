"""The worker's end of the protocol: appends updates, marks whose code runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from kprof.evidence import Fault, Side, Stage
from kprof.worker.protocol import SIDE_FILE, UPDATES_FILE, Update, encode_side

_DECODER = msgspec.json.Decoder(Update)


class Answers:
    """Writes updates to the private file, one whole line a call, on disk before it returns."""

    def __init__(self, folder: Path) -> None:
        self._updates = os.open(folder / UPDATES_FILE, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._side = os.open(folder / SIDE_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.side: Side | None = None
        """Whose code runs."""
        self.stage: Stage = "load"
        """The stage that is running."""
        self._sent = 0
        os.pwrite(self._side, encode_side(None), 0)

    def send(self, update: Update) -> None:
        """Append one update, as a line of its own even behind something that user code wrote without a line's end."""
        if update.finished == "worker":
            update = msgspec.structs.replace(update, sent=self._sent + 1)
        line = _encode(update)
        self._sent += 1
        os.write(self._updates, b"\n" + line + b"\n")

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


def _encode(update: Update) -> bytes:
    """As JSON that the command can read back.

    Texts of user code's may hold lone surrogates, which UTF-8 cannot: question marks stand for them.

    Raises:
        ValueError: it cannot be read back. JSON has no infinity and holds null in its place, also where none may be:
            the command would take the line for one that user code wrote.
    """
    try:
        line = msgspec.json.encode(update)
    except UnicodeEncodeError:
        line = msgspec.json.encode(_without_surrogates(msgspec.to_builtins(update)))
    try:
        _DECODER.decode(line)
    except msgspec.DecodeError as error:
        raise ValueError(f"an answer that cannot be read back: {error}") from error
    return line


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_surrogates(item) for item in value]
    return value
