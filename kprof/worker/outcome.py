"""What came of a worker: its updates, read in bounded steps and folded as they arrive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kprof.evidence import ClockReading, Fault, Side
from kprof.worker.protocol import EVIDENCE, Update, decode_update

_MOST_BYTES: Final = 1_000_000
"""Read at a time: what decoding them takes is no delay to speak of between two looks at the clock."""
_LONGEST_LINE: Final = 64_000_000
_MOST_FAULTS: Final = 100


@dataclass
class Outcome:
    """What came of one worker."""

    evidence: dict[str, Any] = field(default_factory=dict)
    """The newest of each kind, by its field in `Update`."""
    clocks_after: ClockReading | None = None
    faults: list[Fault] = field(default_factory=list)
    """Those that the worker told itself."""
    last: Update = field(default_factory=Update)
    """The last update, which says whether the worker came to its end."""
    lost: bool = False
    """The worker did not come to its end."""
    fault: Fault | None = None
    """Why the worker was lost; None where it was not, or where its last update is the fault already."""
    corruption: Fault | None = None
    """What it answered cannot be trusted to be all: told of a lost worker only."""
    forgery: Fault | None = None
    """Something answered in the worker's name."""
    received: int = 0
    """Updates read."""
    output_tail: str = ""
    status: int | None = None
    """What the process that the command started ended with; negative for a signal."""
    expired_after_s: float | None = None
    """Its time was up: the limit that it came to."""
    side: Side | None = None
    """Whose code ran last."""

    @property
    def finished(self) -> bool:
        """The worker said that it was done."""
        return self.last.finished == "worker"

    def add(self, update: Update) -> None:
        """Fold in one update: of evidence only the newest is kept."""
        self.last = update
        self.received += 1
        for name in EVIDENCE:
            if (found := getattr(update, name)) is not None:
                self.evidence[name] = found
        if update.clocks_after is not None:
            self.clocks_after = update.clocks_after
        if update.fault is not None and len(self.faults) < _MOST_FAULTS:
            self.faults.append(update.fault)

    @property
    def lost_by(self) -> Fault | None:
        """What ended a worker that was lost."""
        if not self.lost:
            return None
        return self.fault or self.faults[-1]

    @property
    def all_faults(self) -> tuple[Fault, ...]:
        """The worker's own, why it was lost, what may be missing, and what may be another's."""
        outside = (self.fault, self.corruption, self.forgery)
        return (*self.faults, *(fault for fault in outside if fault is not None))


class UpdateReader:
    """Reads a worker's file of updates while it grows. User code can write into it: what is no update is skipped."""

    def __init__(self, path: Path) -> None:
        self._stream = path.open("rb", buffering=0)
        self._rest = b""
        self.more = False
        """The last step read all that it may: there is more to read at once."""
        self.unreadable = 0
        """Lines that were no updates."""

    def __enter__(self) -> UpdateReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def step(self) -> Iterator[Update]:
        """Read once, no more than is quick, and give the whole updates among what was read; to be exhausted."""
        arrived = self._stream.read(_MOST_BYTES) or b""
        self.more = len(arrived) == _MOST_BYTES
        *lines, self._rest = (self._rest + arrived).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            self._rest = b""
            self.unreadable += 1
        for line in lines:
            if not line:
                continue
            update = decode_update(line)
            if update is None:
                self.unreadable += 1
            else:
                yield update
