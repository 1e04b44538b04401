"""Files that people name: read up to a bound, written so that a reader never sees half of one, or written into."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Final

from kprof.errors import InputFileError, UsageError

MOST_BYTES: Final = 256 * 2**20
"""Read of a file at most: nothing that kprof reads whole comes near it, and ``/dev/zero`` has no end."""
WRITER_WITHIN_S: Final = 10.0
"""A pipe that has no writer after this time will have none."""
_LOOK_EVERY_S: Final = 0.02
_PIECE_BYTES: Final = 2**16
_MOST_LOG_BYTES: Final = 4_000_000
_ELSEWHERE: Final = "Give another place."


def read_whole(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a file, or of a pipe.

    Raises:
        InputFileError: it cannot be read, has more than ``most_bytes``, or is a pipe that nobody writes into.
    """
    try:
        if stat.S_ISFIFO(path.stat().st_mode):
            data = _read_pipe(path, most_bytes + 1)
        else:
            with path.open("rb") as stream:
                data = stream.read(most_bytes + 1)
    except OSError as error:
        raise InputFileError(f"cannot read {path}: {error.strerror}", "Check the path.") from error
    if len(data) > most_bytes:
        raise InputFileError(f"{path} has more than {most_bytes / 1e6:.0f} MB: it is something else", "Check the path.")
    return data


def _read_pipe(path: Path, most_bytes: int) -> bytes:
    """What is written into a pipe. One who writes may take time, as ``<(kprof analyze ...)`` does, and has to exist."""
    got = bytearray()
    has_writer = False
    deadline = time.monotonic() + WRITER_WITHIN_S
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as stream:
        while len(got) < most_bytes:
            piece = stream.read(min(_PIECE_BYTES, most_bytes - len(got)))
            if piece is None:  # a writer is there, and has nothing yet
                has_writer = True
                select.select([stream], [], [])
                continue
            if not piece and has_writer:
                break
            has_writer = has_writer or bool(piece)
            got += piece
            if not has_writer and time.monotonic() > deadline:
                message = f"{path} is a pipe that nobody wrote into for {WRITER_WITHIN_S:g} s"
                raise InputFileError(message, "Start what writes into it first, or give a file.")
            if not has_writer:
                time.sleep(_LOOK_EVERY_S)
    return bytes(got)


def read_text(path: Path, most_bytes: int = _MOST_LOG_BYTES) -> str:
    """The beginning of a tool's log; empty where there is none. A pipe that user code put there is not waited for."""
    if not path.is_file():
        return ""
    try:
        with path.open("rb") as stream:
            return stream.read(most_bytes).decode("utf-8", "replace")
    except OSError:
        return ""


def require_writable(path: Path) -> None:
    """Refuse before anything is measured what could not be written after.

    Raises:
        UsageError: the folder is missing or cannot be written, or ``path`` is a folder, a disk or a socket.
    """
    try:
        found = _status(path)
        folder = path.resolve().parent
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", _ELSEWHERE) from error
    if found is not None and _standard_stream(found) is not None:
        return
    if found is not None and not stat.S_ISREG(found.st_mode):
        _require_stream(path, found)
    elif not folder.is_dir():
        raise UsageError(f"cannot write {path}: the folder {folder} does not exist", f"mkdir -p {folder}")
    elif not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write {path}: the folder {folder} is not writable", _ELSEWHERE)


def require_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Every output can be written, and writing it destroys neither an input nor another output.

    Raises:
        UsageError: one cannot, or would.
    """
    taken = [path for path in inputs if path is not None]
    for path in filter(None, outputs):
        require_writable(path)
        clash = next((other for other in taken if is_regular_or_new(path) and same_file(path, other)), None)
        if clash is not None:
            message = f"cannot write {path}: it is the same file as {clash}, which the command is given too"
            raise UsageError(message, "Give another name.")
        taken.append(path)


def write_whole(path: Path, data: bytes) -> None:
    """Write beside ``path``, flush to disk and rename over it: it is the old file or the new one, never a part.

    What is no regular file (a pipe, a terminal, ``/dev/null``, ``/dev/stdout``) is written into and stays what it is.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        found = _status(path)
        if found is not None and (_standard_stream(found) is not None or not stat.S_ISREG(found.st_mode)):
            _write_into(path, found, data)
        else:
            # Where `path` is a link, what it points to is replaced and the link stays.
            _replace(path.resolve(), data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", "Give another place, or make room.") from error


def same_file(one: Path, other: Path) -> bool:
    """Both names are of one file, through links too; a file that does not exist yet is the one of its place."""
    try:
        return one.samefile(other)
    except OSError:
        return one.resolve() == other.resolve()


def is_regular_or_new(path: Path) -> bool:
    """A write would replace what is there; False for a stream such as ``/dev/null``, which many may write into."""
    found = _status(path)
    return found is None or stat.S_ISREG(found.st_mode)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _require_stream(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise UsageError(f"cannot write {path}: it is a folder", "Give a file name.")
    if not (stat.S_ISCHR(found.st_mode) or stat.S_ISFIFO(found.st_mode)):
        raise UsageError(f"cannot write {path}: it is neither a file nor a stream", "Give a file name.")
    if not os.access(path, os.W_OK):
        raise UsageError(f"cannot write {path}: it is not writable", _ELSEWHERE)


def _standard_stream(found: os.stat_result) -> int | None:
    """The descriptor, where it is what stdout or stderr already write to."""
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(found, os.fstat(descriptor)):
                return descriptor
    return None


def _write_into(path: Path, found: os.stat_result, data: bytes) -> None:
    # Opened again, a file would be written from its start, and a socket or another user's pipe would be refused.
    standard = _standard_stream(found)
    handle = os.dup(standard) if standard is not None else os.open(path, os.O_WRONLY)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)


def _replace(target: Path, data: bytes) -> None:
    made = target.with_name(f".kprof.{secrets.token_hex(6)}")
    try:
        # Without a name while it is written, where the file system can: a kill leaves nothing of it.
        if not _write_unnamed(made, data):
            _write_named(made, data)
        made.replace(target)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def _write_unnamed(made: Path, data: bytes) -> bool:
    """Write a file and name it when it is whole; False where the system has no files without a name."""
    try:
        handle = os.open(made.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    except (AttributeError, OSError):
        return False
    with os.fdopen(handle, "wb") as stream:
        _write_down(stream, data)
        try:
            os.link(f"/proc/self/fd/{handle}", made, follow_symlinks=True)
        except OSError:
            return False
    return True


def _write_named(made: Path, data: bytes) -> None:
    with os.fdopen(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666), "wb") as stream:
        _write_down(stream, data)


def _write_down(stream: BinaryIO, data: bytes) -> None:
    stream.write(data)
    stream.flush()
    os.fsync(stream.fileno())
