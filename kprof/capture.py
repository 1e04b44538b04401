"""A capture: all evidence of one run, and the file that keeps it.

A report can always be made again from its capture, on a machine with no GPU and no torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from kprof.ceilings_evidence import CeilingsEvidence
from kprof.counter_evidence import CountersEvidence
from kprof.errors import InputFileError
from kprof.evidence import (
    BuildEvidence,
    Environment,
    Fault,
    MemoryEvidence,
    Record,
    Side,
    Stage,
    TensorInfo,
    TimingEvidence,
    Workload,
)
from kprof.files import read_whole
from kprof.floor_evidence import FloorEvidence
from kprof.integrity_evidence import IntegrityEvidence
from kprof.launches_evidence import LaunchesEvidence
from kprof.precision_evidence import PrecisionEvidence
from kprof.sanitizer_evidence import SanitizerEvidence

CAPTURE_VERSION: Final = 1
_WRITE_ONE = "Give a file written by kprof analyze --save-capture."
_IMPORT_ONE = "A report of Nsight Compute goes to kprof import."
_REMAKE = "Make the capture again with kprof analyze --save-capture."


class Capture(Record, frozen=True, kw_only=True):
    """All evidence of one run."""

    capture_version: int = CAPTURE_VERSION
    kprof_version: str
    created: str
    """UTC, ISO 8601 with a Z."""
    requested: tuple[str, ...]
    """Blocks asked for."""
    workload: Workload | None
    """None: imported from a report of ncu's, which does not say."""
    environment: Environment
    faults: tuple[Fault, ...] = ()
    build: BuildEvidence | None = None
    precision: PrecisionEvidence | None = None
    timing: TimingEvidence | None = None
    integrity: IntegrityEvidence | None = None
    memory: MemoryEvidence | None = None
    floor: FloorEvidence | None = None
    launches: LaunchesEvidence | None = None
    counters: CountersEvidence | None = None
    sanitizer: SanitizerEvidence | None = None
    ceilings: CeilingsEvidence | None = None
    """Roofs measured on this device, on another day or for this run; None: there are none."""

    @property
    def is_imported(self) -> bool:
        """Made from a report of ncu's, not from a run of kprof's."""
        return self.workload is None

    @property
    def has_reference(self) -> bool:
        """A reference was given."""
        return self.workload is not None and self.workload.ref_file is not None

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """The tensors among the timed inputs."""
        return self.workload.inputs if self.workload is not None else ()

    def fault(self, stage: Stage, side: Side | None = None) -> Fault | None:
        """The first fault of ``stage``, of one side where one is named."""
        return next((f for f in self.faults if f.stage == stage and side in (None, f.side)), None)


def encode_capture(capture: Capture) -> bytes:
    """Readable JSON, one trailing newline."""
    return msgspec.json.format(msgspec.json.encode(capture), indent=1) + b"\n"


def decode_capture(data: bytes, source: str) -> Capture:
    """Read a capture.

    Args:
        data: the file's content.
        source: its name, for errors.

    Raises:
        InputFileError: not JSON, not a capture, or of another version.
    """
    try:
        head: Any = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise InputFileError(f"{source} is not JSON: {error}", f"{_WRITE_ONE} {_IMPORT_ONE}") from error
    except RecursionError as error:
        raise InputFileError(f"{source} is not a capture: it is nested too deeply", _WRITE_ONE) from error
    if isinstance(head, dict) and "schema_version" in head and "capture_version" not in head:
        raise InputFileError(
            f"{source} is a report, not a capture", f"kprof report {source} --format text shows it. {_WRITE_ONE}"
        )
    version = head.get("capture_version") if isinstance(head, dict) else None
    if version is None:
        raise InputFileError(f"{source} is not a capture: it has no capture_version", _WRITE_ONE)
    if version != CAPTURE_VERSION:
        newer = isinstance(version, int) and version > CAPTURE_VERSION
        raise InputFileError(
            f"{source} is a capture of version {version}; this kprof reads version {CAPTURE_VERSION}",
            "Update kprof." if newer else _REMAKE,
        )
    try:
        return msgspec.convert(head, Capture)
    except msgspec.ValidationError as error:
        raise InputFileError(f"{source}: {error}", _REMAKE) from error


def load_capture(path: Path) -> Capture:
    """Read a capture file; see `decode_capture` for what is refused."""
    return decode_capture(read_whole(path), str(path))
