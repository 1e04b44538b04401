"""Tracebacks of what user code raised: whatever it is, they can be made, and they show the user's own lines."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_DETAIL_CHARS: Final = 6000
_HEADING: Final = "Traceback (most recent call last):\n"


def full_trace(error: BaseException) -> str:
    """The end of the traceback, for a fault of kprof's own."""
    try:
        return "".join(traceback.format_exception(error))[-_DETAIL_CHARS:]
    except BaseException:  # The traceback asks the exception for its text and its notes: user code, that may raise.
        return ""


def user_trace(error: BaseException) -> str:
    """The end of the traceback without the frames of kprof and of importlib, which say nothing about the user's code.

    Where no others are left the last one stays. Python's heading is left out: the frames are shown where a reader would
    take it for a failure of kprof's.
    """
    try:
        found = traceback.TracebackException.from_exception(error, compact=True)
        _prune(found)
        lines = (line for line in found.format() if line != _HEADING)
        return "".join(lines)[-_DETAIL_CHARS:]
    except BaseException:  # As above.
        return ""


def _prune(found: traceback.TracebackException) -> None:
    links: list[traceback.TracebackException | None] = [found]
    while links:
        link = links.pop()
        if link is None:
            continue
        users = [frame for frame in link.stack if not _is_machinery(frame.filename)]
        link.stack = traceback.StackSummary.from_list(users or list(link.stack)[-1:])
        links += [link.__cause__, link.__context__, *(getattr(link, "exceptions", None) or ())]


def _is_machinery(filename: str) -> bool:
    if filename.startswith("<frozen importlib") or "/importlib/" in filename:
        return True
    path = Path(filename)
    # The probes that are installed with kprof are kernels like any other.
    return path.is_relative_to(_PACKAGE) and not path.is_relative_to(_PACKAGE / "_data")
