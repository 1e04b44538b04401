"""The frame of an ``.ncu-rep`` file: enough of it to tell whether the file is whole, and which ncu wrote it.

A report is ``NVR`` and a zero, a header, then blocks; each has the size of its header, a protobuf header and a payload
whose size the header tells (seen in the recorded reports; public readers of the format agree). `ncu_report` reads a
file that was cut in the middle as one with fewer launches, and says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

MAGIC: Final = b"NVR\0"
KNOWN_VERSION: Final = 7
"""Of the frame, as of Nsight Compute 2025.3. A later one may differ: then nothing is claimed."""

_SIZE: Final = 4
_VERSION: Final = re.compile(rb"Nsight Compute[ A-Za-z]*\x12.([0-9]{4}\.[0-9]+\.[0-9]+)", re.DOTALL)
_RESULTS, _PAYLOAD, _PROCESS = 2, 5, 6
"""Numbers of the fields of a block's header: profile results in it, bytes of its payload, the process."""
_PROCESS_ID: Final = 1


@dataclass(frozen=True)
class ReportFrame:
    """What the frame says.

    Attributes:
        known: this version of the frame is understood; where it is not, the rest is empty.
        whole: the last block ends where the file ends.
        results: profile results that the blocks announce.
        ncu_version: of the ncu that wrote the file, such as ``2025.3.1``.
        process_id: of the profiled process, where all results are of one.
    """

    known: bool
    whole: bool = True
    results: int = 0
    ncu_version: str | None = None
    process_id: int | None = None


def read_frame(path: Path) -> ReportFrame:
    """Walk the blocks, reading their headers alone.

    Raises:
        OSError: the file cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        version = _file_version(stream, size)
        if version is None or version > KNOWN_VERSION:
            return ReportFrame(known=version is None, whole=version is not None)
        return _walk(stream, size)


def _file_version(stream: BinaryIO, size: int) -> int | None:
    """The version in the file's own header; None where there is no such header."""
    if stream.read(len(MAGIC)) != MAGIC:
        return None
    header = _sized(stream, size)
    try:
        return int(dict(_fields(header))[1]) if header is not None else None
    except (KeyError, ValueError, TypeError):
        return None


def _walk(stream: BinaryIO, size: int) -> ReportFrame:
    results, ncu_version = 0, None
    processes: set[int | None] = set()
    while stream.tell() < size:
        header = _sized(stream, size)
        try:
            fields = dict(_fields(header)) if header is not None else None
        except ValueError:
            fields = None
        if header is None or fields is None:
            return ReportFrame(known=True, whole=False, results=results, ncu_version=ncu_version)
        match = _VERSION.search(header)
        ncu_version = match[1].decode("ascii") if match and ncu_version is None else ncu_version
        count, payload = fields.get(_RESULTS, 0), fields.get(_PAYLOAD, 0)
        if isinstance(count, int) and count:
            results += count
            processes.add(_process_id(fields.get(_PROCESS)))
        stream.seek(payload if isinstance(payload, int) else 0, 1)
    only = processes.pop() if len(processes) == 1 else None
    return ReportFrame(
        known=True, whole=stream.tell() == size, results=results, ncu_version=ncu_version, process_id=only
    )


def _process_id(process: int | bytes | None) -> int | None:
    if not isinstance(process, bytes):
        return None
    try:
        found = dict(_fields(process)).get(_PROCESS_ID)
    except ValueError:
        return None
    return found if isinstance(found, int) else None


def _sized(stream: BinaryIO, size: int) -> bytes | None:
    """The bytes whose number stands before them; None where the file, of that size, ends first."""
    number = stream.read(_SIZE)
    expected = int.from_bytes(number, "little")
    if len(number) < _SIZE or expected > size - stream.tell():
        return None
    return stream.read(expected)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protobuf message: numbers and byte strings.

    Raises:
        ValueError: it is none.
    """
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == 0:
            value, place = _varint(message, place)
            yield key >> 3, value
            continue
        if kind == 2:
            length, place = _varint(message, place)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if place + length > len(message):
            raise ValueError("cut short")
        yield key >> 3, message[place : place + length]
        place += length


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(message) and shift < 64:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place += 1
        shift += 7
        if byte < 0x80:
            return value, place
    raise ValueError("no end of a number")
