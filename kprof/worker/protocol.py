"""What the command asks of a worker and what the worker answers: one request file, one file of updates.

The worker never answers on stdout, which belongs to user code. It appends one JSON line an update to a private file,
so that whatever was measured before a crash is there to read.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Final, Literal

import msgspec

from kprof.ceilings_evidence import CeilingsEvidence
from kprof.evidence import (
    BuildEvidence,
    ClockReading,
    Environment,
    Fault,
    MemoryEvidence,
    Record,
    Side,
    Stage,
    TimingEvidence,
    Workload,
)
from kprof.floor_evidence import FloorEvidence
from kprof.installation import Installation
from kprof.integrity_evidence import IntegrityEvidence
from kprof.launches_evidence import LaunchesEvidence
from kprof.precision_evidence import PrecisionEvidence

UPDATES_FILE: Final = "updates.jsonl"
SIDE_FILE: Final = "side"
REQUEST_FILE: Final = "request.json"
GO_FILE: Final = "go"
TURN_FILE: Final = "turn"
STACKS_SIGNAL: Final = signal.SIGUSR1
"""Asks a worker to print the stack of each of its threads."""
_SIDE_BYTES: Final[dict[bytes, Side | None]] = {b"k": "kernel", b"r": "ref", b"-": None}


class Request(Record, frozen=True, kw_only=True, tag="workload"):
    """Everything a worker needs to know to measure two files."""

    workload: Workload
    """What to measure; the answer adds what is seen when it is loaded."""
    device: str
    """``auto``, ``cpu`` or ``cuda:N``."""
    trials: int
    stages: tuple[Stage, ...]
    """What to do after loading, in order."""
    allow_nonfinite: bool = False
    ceilings: bool = False
    """Answer with the measured roofs of the device: those in the cache, and on the CPU else a quick measurement."""
    describe: bool = True
    """Answer with environment, workload and build too: once a run is enough."""
    held: bool = False
    """Wait, once everything is imported and before any device is touched, for the command to let it go on."""
    takes_turn: bool = False
    """Wait, before anything runs on a GPU, for the command to hold that device against other runs."""
    headline_only: bool = False
    """Time only what the headline needs: a repeat in a fresh process."""
    profiled_sides: tuple[Side, ...] = ("kernel", "ref")
    """Whose calls ncu profiles, in the stage ``counters``."""
    sampled_sides: tuple[Side, ...] = ()
    """Whose calls are repeated there for more samples of warp states."""
    cache_dir: str


class OwnRequest(Record, frozen=True, kw_only=True, tag="own"):
    """What a worker does that loads no user code."""

    task: Literal["installation", "ceilings"]
    """Say what torch is and sees here; measure the roofs of a device."""
    device: str
    """``auto``, ``cpu`` or ``cuda:N``."""
    cache_dir: str
    held: bool = False


AnyRequest = Request | OwnRequest


class Update(Record, frozen=True, kw_only=True):
    """One line of the answer. Only what is set counts; evidence replaces what was sent before it."""

    entered: Stage | None = None
    finished: Stage | Literal["worker"] | None = None
    """A stage that is over, or the worker itself: the last line of a worker that ended as it should."""
    sent: int | None = None
    """In the last line: how many updates the worker has sent, this one among them."""
    building: str | None = None
    """Name of the extension that a compiler may be busy with from now on; empty: over."""
    waits_for: str | None = None
    """The device that the worker waits to be let on: its UUID, else its name."""
    fault: Fault | None = None
    workload: Workload | None = None
    environment: Environment | None = None
    clocks_after: ClockReading | None = None
    build: BuildEvidence | None = None
    precision: PrecisionEvidence | None = None
    timing: TimingEvidence | None = None
    integrity: IntegrityEvidence | None = None
    memory: MemoryEvidence | None = None
    floor: FloorEvidence | None = None
    launches: LaunchesEvidence | None = None
    ceilings: CeilingsEvidence | None = None
    installation: Installation | None = None


EVIDENCE: Final = (
    "workload", "environment", "build", "precision", "timing", "integrity", "memory", "floor", "launches", "ceilings",
    "installation",
)  # fmt: skip
"""Fields of `Update` that are evidence."""


def encode_side(side: Side | None) -> bytes:
    """The byte that marks whose code is running."""
    return {"kernel": b"k", "ref": b"r", None: b"-"}[side]


def decode_side(path: Path) -> Side | None:
    """Whose code was running last; None where nobody's was, or the file is gone."""
    try:
        return _SIDE_BYTES.get(path.read_bytes()[:1])
    except OSError:
        return None


_DECODER = msgspec.json.Decoder(Update)


def decode_update(line: bytes) -> Update | None:
    """The update that a line is; None for anything else, which user code may have written there."""
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
