"""Reports of Nsight Compute, whatever they are: the one door to the readers.

What a file is, its content tells; its name may be anything.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO

import msgspec

from kprof.collectors.ncu.csv_file import EXPORT_HINT, read_csv_text
from kprof.collectors.ncu.report_blocks import MAGIC
from kprof.collectors.ncu.report_file import ZSTD_MAGIC, read_report_file
from kprof.counter_evidence import CountersEvidence
from kprof.errors import InputFileError

_HEAD: Final = 1 << 16
"""Bytes that tell what a file is."""
_LONGEST_LINE: Final = 1 << 28
"""Characters of a line at most: a full report has some 30,000, a kernel's name may have 200,000."""
_CHUNK: Final = 1 << 20
_EXPECTED: Final = "expected a report (.ncu-rep) or a CSV export of Nsight Compute"
_FOREIGN: Final = (
    (b"\x1f\x8b", "compressed with gzip", "Unpack it first: gunzip."),
    (b"PK\x03\x04", "a zip archive", "Unpack it first: unzip."),
    (b"SQLite format 3\0", "an SQLite database", "Nsight Systems writes those; profile with ncu instead of nsys."),
)
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


def read_report(path: Path, allow_empty: bool = False) -> CountersEvidence:
    """What a report file holds: ``.ncu-rep``, ``.ncu-repz``, or CSV of the raw or details page.

    Args:
        path: the file; its content tells what it is.
        allow_empty: a report without launches is an answer, too.

    Raises:
        InputFileError: it cannot be read, is something else, is damaged, or holds no launches.
    """
    try:
        evidence = _read(path)
        digest = _sha256(path)
    except OSError as error:
        raise InputFileError(
            f"cannot read {path}: {error.strerror or error}", "Give a file that can be read."
        ) from error
    if not evidence.launches and not allow_empty:
        raise InputFileError(
            f"{path} holds no kernel launches, only the frame of a report",
            "Check that the program launches kernels and that ncu's filters (-k, -c, --nvtx-include) let some through.",
        )
    return msgspec.structs.replace(evidence, report_file=str(path), report_sha256=digest)


def _read(path: Path) -> CountersEvidence:
    kind = path.stat().st_mode
    if not stat.S_ISREG(kind):
        what = "a folder" if stat.S_ISDIR(kind) else "no regular file"
        raise InputFileError(f"{path} is {what}; {_EXPECTED}", "Give the file itself.")
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    if not head:
        raise InputFileError(f"{path} is empty; {_EXPECTED}", "Profile again; a report is written when ncu ends.")
    if head.startswith((MAGIC, ZSTD_MAGIC)):
        return read_report_file(path)
    for magic, what, hint in _FOREIGN:
        if head.startswith(magic):
            raise InputFileError(f"{path} is {what}; {_EXPECTED}", hint)
    if b"\0" in head and not head.startswith(_UTF16):
        raise InputFileError(f"{path} is neither a report nor text; {_EXPECTED}", EXPORT_HINT)
    if b'"capture_version"' in head:
        raise InputFileError(f"{path} is a capture of kprof; {_EXPECTED}", f"kprof analyze --capture {path}")
    if b'"schema_version"' in head and b'"kprof_version"' in head:
        raise InputFileError(f"{path} is a report of kprof; {_EXPECTED}", f"kprof report {path}")
    encoding = "utf-16" if head.startswith(_UTF16) else "utf-8-sig"
    # What is no UTF-8 in a name is written out rather than lost. Line ends stay, for names that hold some.
    with path.open(encoding=encoding, errors="backslashreplace", newline="") as text:
        return read_csv_text(_lines(text, path), str(path))


def _lines(text: TextIO, path: Path) -> Iterator[str]:
    while line := text.readline(_LONGEST_LINE):
        if len(line) >= _LONGEST_LINE:
            raise InputFileError(f"{path} has a line of over {_LONGEST_LINE} characters; {_EXPECTED}", EXPORT_HINT)
        yield line


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
