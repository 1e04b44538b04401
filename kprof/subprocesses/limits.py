"""Limits on what a process may take of the machine by accident. Never on address space: CUDA reserves terabytes."""

from __future__ import annotations

import resource
from typing import Final

MOST_OPEN_FILES: Final = 16_384
"""A leak of descriptors ends here, before the machine's own table is full."""
MOST_FILE_BYTES: Final = 64 * 2**30
"""Of any one file, so that a loop does not fill a disk. Far beyond a report or a trace; shared tensors count too."""


def limit_this_process() -> None:
    """No core files, bounded files and descriptors, for this process and all that it starts. It cannot be undone."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_NOFILE, MOST_OPEN_FILES)
    _lower(resource.RLIMIT_FSIZE, MOST_FILE_BYTES)


def _lower(kind: int, most: int) -> None:
    """Lower both limits to ``most``; what is lower already stays."""
    soft, hard = (most if limit == resource.RLIM_INFINITY else min(limit, most) for limit in resource.getrlimit(kind))
    resource.setrlimit(kind, (soft, hard))
