"""Measured roofs: what a board or a processor reached in programs that do nothing else, and the file they travel in.

Rates are in base units (byte/s, FLOP/s), times in microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from kprof.errors import InputFileError
from kprof.evidence import Environment, Reason, Record

CEILINGS_VERSION: Final = 1
"""Of the file and of the way that things are measured: what is in a cache under another version is measured again."""
MEASURE_HINT: Final = "Measure them: kprof doctor --ceilings."
_MAKE_ONE: Final = "Give a file made with: kprof doctor --ceilings --json > ceilings.json"

Name = Literal[
    "dram_read", "dram_copy", "dram_triad", "l2", "l1", "shared", "cache",
    "fp32", "fp64", "fp16_vector", "fp64_tensor", "tf32", "bf16", "fp16", "fp8", "int8",
    "empty_kernel", "launch", "launch_and_wait", "call",
]  # fmt: skip
"""Bandwidths by level (``cache``: a processor's, by footprint), peaks by type as a spec names them, times."""
Unit = Literal["byte/s", "FLOP/s", "us"]
DRAM_MIXES: Final[dict[Name, float]] = {"dram_copy": 1 / 2, "dram_triad": 2 / 3, "dram_read": 1.0}
"""The share of reads among the bytes that each of them moves."""


class MeasuredCeiling(Record, frozen=True, kw_only=True):
    """One roof, or one time below which nothing goes."""

    name: Name
    unit: Unit
    """Integer operations count as FLOP here."""
    median: float
    worst: float
    """The slowest sample: the lowest rate, the longest time."""
    best: float
    """The fastest sample."""
    samples: int
    footprint_bytes: int | None = None
    """Memory that was gone through, again and again, for a bandwidth."""
    sm_clock_mhz: int | None = None
    """The SM clock right after the samples."""
    method: str
    """What ran, in a few words."""


class CeilingsEvidence(Record, frozen=True, kw_only=True):
    """All roofs measured on one device, and on what exactly they were."""

    ceilings_version: int = CEILINGS_VERSION
    kprof_version: str
    created: str
    """UTC, ISO 8601 with a Z."""
    device: str
    """``cpu`` or ``cuda:N``."""
    device_name: str | None = None
    gpu_uuid: str | None = None
    memory_bytes: int | None = None
    l2_bytes: int | None = None
    driver: str | None = None
    cuda: str | None = None
    torch: str | None = None
    cpu_threads: int | None = None
    seconds: float
    """What it took."""
    quick: bool = False
    """The least that a report on the CPU needs, in about a second."""
    measured: tuple[MeasuredCeiling, ...] = ()
    absent: dict[str, Reason] = msgspec.field(default_factory=dict)
    """Why some are not there, by name."""
    warnings: tuple[Reason, ...] = ()
    """Why they may be too low."""

    def get(self, name: str) -> MeasuredCeiling | None:
        """The ceiling of that name; of several the one with most memory gone through."""
        return max(self.all_of(name), key=lambda one: one.footprint_bytes or 0, default=None)

    def all_of(self, name: str) -> Iterator[MeasuredCeiling]:
        """Every ceiling of that name."""
        return (one for one in self.measured if one.name == name)

    def processor_bandwidth(self, moved_bytes: float) -> MeasuredCeiling | None:
        """The fastest bandwidth of a processor that a call which goes through so many bytes may have.

        It was measured on the most bytes that are no more than those, or on more: caches that hold more are slower, and
        at the smallest footprints the call itself shows.
        """
        known = [one for one in self.measured if one.unit == "byte/s" and one.footprint_bytes is not None]
        sizes = sorted({one.footprint_bytes or 0 for one in known})
        if not sizes:
            return None
        least = max((size for size in sizes if size <= moved_bytes), default=sizes[0])
        return max((one for one in known if (one.footprint_bytes or 0) >= least), key=lambda one: one.best)

    def dram_bandwidth(self, read_share: float | None, *, best: bool = False) -> float | None:
        """Byte/s of DRAM at a mix of reads and writes: between the mixes measured, time per byte is interpolated.

        Args:
            read_share: reads among the bytes, 0 to 1; below that of a copy it is the copy's. None: not known, and the
                highest of them.
            best: of the fastest samples; else of the medians.
        """
        known = [
            (share, one.best if best else one.median)
            for name, share in DRAM_MIXES.items()
            if (one := self.get(name)) is not None
        ]
        if not known or read_share is None:
            return max((rate for _, rate in known), default=None)
        below = [pair for pair in known if pair[0] <= read_share] or known[:1]
        above = [pair for pair in known if pair[0] >= read_share] or known[-1:]
        (low, slow), (high, fast) = below[-1], above[0]
        weight = (read_share - low) / (high - low) if high > low else 0.0
        return 1 / ((1 - weight) / slow + weight / fast)


def describes_board_of(ceilings: CeilingsEvidence, environment: Environment) -> bool:
    """They were measured on a device of the kind that the environment names, as far as both say."""
    kinds = {one.partition(":")[0] for one in (ceilings.device, environment.device)}
    names = {one for one in (ceilings.device_name, environment.device_name) if one is not None}
    return len(kinds) == 1 and len(names) < 2


def encode_ceilings(ceilings: CeilingsEvidence) -> bytes:
    """Readable JSON, one trailing newline."""
    return msgspec.json.format(msgspec.json.encode(ceilings), indent=1) + b"\n"


def decode_ceilings(data: bytes, source: str) -> CeilingsEvidence:
    """Read measured ceilings.

    Raises:
        InputFileError: not JSON, not ceilings, or of another version.
    """
    try:
        head: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputFileError(f"{source} is not JSON: {error}", _MAKE_ONE) from error
    version = head.get("ceilings_version") if isinstance(head, dict) else None
    if version != CEILINGS_VERSION:
        found = "it has no ceilings_version" if version is None else f"its version is {version!r}"
        raise InputFileError(f"{source} does not hold measured ceilings of this version: {found}", _MAKE_ONE)
    try:
        return msgspec.convert(head, CeilingsEvidence)
    except msgspec.ValidationError as error:
        raise InputFileError(f"{source}: {error}", _MAKE_ONE) from error


def load_ceilings(path: Path) -> CeilingsEvidence:
    """Read a file of measured ceilings; see `decode_ceilings` for what is refused."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputFileError(f"cannot read {path}: {error.strerror}", "Check the path.") from error
    return decode_ceilings(data, str(path))
