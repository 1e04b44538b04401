"""kprof's own cache of compiled extensions: where it is, how large it may grow, how it is cleared.

One folder an extension, named by the hash of all that its build depends on, sealed with the hash of what it built.
``KPROF_CACHE_DIR`` moves the cache,
``KPROF_CACHE_MAX_MB`` caps it (2000 MB); what was used longest ago goes first, and what a build holds locked stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import filelock
import platformdirs

from kprof.errors import UsageError
from kprof.files import write_whole

DEFAULT_MAX_MB: Final = 2000.0
LOCK_FILE: Final = ".kprof.lock"
USED_FILE: Final = ".kprof.used"
SEAL_FILE: Final = ".kprof.seal"


def cache_dir() -> Path:
    """The cache's folder: ``KPROF_CACHE_DIR``, else ``kprof`` in the user's cache directory. It need not exist.

    Raises:
        UsageError: ``KPROF_CACHE_DIR`` names a user that does not exist, or is not UTF-8.
    """
    chosen = os.environ.get("KPROF_CACHE_DIR")
    if not chosen:
        return platformdirs.user_cache_path("kprof")
    try:
        chosen.encode()
        return Path(chosen).expanduser().absolute()
    except UnicodeEncodeError as error:
        raise UsageError(f"KPROF_CACHE_DIR is {chosen!r}, which is not UTF-8", "Give another folder.") from error
    except RuntimeError as error:
        raise UsageError(f"KPROF_CACHE_DIR is {chosen!r}: there is no such user", "Write the folder out.") from error


def cache_max_bytes() -> float:
    """The size above which entries are evicted, in bytes (1 MB = 1e6 bytes).

    Raises:
        UsageError: ``KPROF_CACHE_MAX_MB`` is not a number of megabytes.
    """
    text = os.environ.get("KPROF_CACHE_MAX_MB")
    if text is None:
        return DEFAULT_MAX_MB * 1e6
    try:
        megabytes = float(text)
    except ValueError:
        megabytes = -1.0
    if not megabytes >= 0:
        raise UsageError(f"KPROF_CACHE_MAX_MB is {text!r}; a number of megabytes was expected", "Unset it or mend it.")
    return megabytes * 1e6


@dataclass(frozen=True)
class Entry:
    """One compiled extension in the cache."""

    path: Path
    size_bytes: int
    last_used: float
    """Seconds since the epoch."""


def extensions_dir(root: Path) -> Path:
    """Folder of the compiled extensions below the cache's root."""
    return root / "extensions"


def entries(root: Path) -> list[Entry]:
    """All entries, longest unused first. Entries that vanish meanwhile are left out."""
    found = []
    for path in _folders(extensions_dir(root)):
        try:
            size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
            marker = path / USED_FILE
            used = (marker if marker.exists() else path).stat().st_mtime
        except OSError:
            continue
        found.append(Entry(path, size, used))
    return sorted(found, key=lambda entry: entry.last_used)


def _folders(parent: Path) -> list[Path]:
    try:
        return [path for path in parent.iterdir() if path.is_dir()]
    except OSError:
        return []


@contextmanager
def locked(entry: Path, timeout_s: float = -1) -> Iterator[None]:
    """Hold ``entry`` for building or removing. The lock is the operating system's: it is freed when its holder dies.

    Args:
        entry: the entry's folder; it is created.
        timeout_s: how long to wait for another holder; negative: as long as it takes.

    Raises:
        filelock.Timeout: another process held it all that time.
        OSError: the folder cannot be written.
    """
    entry.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(str(entry / LOCK_FILE), timeout=timeout_s):
        yield


def mark_used(entry: Path) -> None:
    """Note that ``entry`` was used now, for the order of eviction."""
    (entry / USED_FILE).touch()


def seal(entry: Path) -> None:
    """Note the content of the entry's libraries, as the build left them. The caller holds the entry."""
    with contextlib.suppress(UsageError):  # where there is no room for it the entry goes unsealed
        write_whole(entry / SEAL_FILE, _content(entry).encode())


def discard_if_altered(entry: Path) -> bool:
    """Empty an entry whose libraries are not those that its build left: a disk that was full, or somebody wrote there.

    What was never sealed (its build was interrupted) stays: the builder knows what of it is whole. The caller holds the
    entry.

    Returns:
        Whether it was emptied.
    """
    try:
        sealed = (entry / SEAL_FILE).read_text()
    except (OSError, UnicodeDecodeError):
        return False
    if sealed == _content(entry):
        return False
    for path in entry.iterdir():
        if path.name == LOCK_FILE:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return True


def _content(entry: Path) -> str:
    """Hash and name of each library."""
    libraries = sorted(entry.glob("*.so"))
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.name}\n" for path in libraries)


def remove(entry: Path) -> bool:
    """Remove an entry; False where another process is building or loading it now."""
    try:
        with locked(entry, timeout_s=0):
            shutil.rmtree(entry, ignore_errors=True)
    except (filelock.Timeout, OSError):
        return False
    return not entry.exists()


def evict(root: Path, max_bytes: float, keep: Path | None = None) -> list[Path]:
    """Remove entries, longest unused first, until the cache fits ``max_bytes``; ``keep`` and locked ones stay."""
    found = entries(root)
    total = sum(entry.size_bytes for entry in found)
    removed = []
    for entry in found:
        if total <= max_bytes:
            break
        if entry.path != keep and remove(entry.path):
            total -= entry.size_bytes
            removed.append(entry.path)
    return removed


def clear(root: Path) -> tuple[int, int]:
    """Remove every entry.

    Returns:
        How many were removed, and how many stayed because another process holds them.
    """
    outcomes = [remove(entry.path) for entry in entries(root)]
    return outcomes.count(True), outcomes.count(False)
