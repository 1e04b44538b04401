"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from kprof.errors import UsageError


def require_writable(path: Path) -> None:
    """Refuse before anything is measured what could not be written after.

    Raises:
        UsageError: the folder is missing or cannot be written, or ``path`` is a folder.
    """
    folder = path.absolute().parent
    if path.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder", "Give a file name.")
    if not folder.is_dir():
        raise UsageError(f"cannot write {path}: the folder {folder} does not exist", f"mkdir -p {folder}")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write {path}: the folder {folder} is not writable", "Give another place.")


def write_whole(path: Path, data: bytes) -> None:
    """Write beside ``path``, flush to disk and rename over it: it is the old file or the new one, never a part.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        # Where `path` is a link, what it points to is replaced and the link stays.
        target = path.resolve()
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
        made = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            made.chmod(0o666 & ~_umask())
            made.replace(target)
        except BaseException:
            made.unlink()
            raise
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", "Give another place, or make room.") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
