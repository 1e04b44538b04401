"""A tiny child of the worker that ends the worker's whole group once the command is gone, however it went.

``kill -9`` leaves the command no time to end anything. The command holds the one write end of a pipe; the watcher waits
for its end of file, which comes with the command's.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Final, NoReturn

from kprof.subprocesses.processes import end_strays

_MOST_DESCRIPTORS: Final = 4096
_STOP_WAITS: Final = 50
_STOP_WAIT_S: Final = 0.001


def start_watcher(pipe: int) -> int | None:
    """Fork the watcher and close ``pipe`` here. To be called first of all: nothing is loaded yet, no thread runs.

    Args:
        pipe: the read end.

    Returns:
        The watcher's process id; None where this process leads no group of its own, which alone may be ended.
    """
    leader = os.getpid()
    if os.getpgrp() != leader:
        os.close(pipe)
        return None
    watcher = os.fork()
    if watcher == 0:
        _watch(pipe, leader)
    os.close(pipe)
    return watcher


def _watch(pipe: int, leader: int) -> NoReturn:
    try:
        # Only KILL ends it: what the group is asked to do politely may be ignored by others in it.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        # The output's pipe above all: who holds it keeps its reader waiting.
        os.closerange(0, pipe)
        os.closerange(pipe + 1, _MOST_DESCRIPTORS)
        while os.read(pipe, 1):
            pass
        if os.getppid() == leader:
            end_strays(leader)
        os.killpg(os.getpgid(0), signal.SIGKILL)
    finally:
        os._exit(0)


def stop_watcher(watcher: int | None) -> None:
    """End the watcher and reap it, for a worker that comes to its own end. Bounded."""
    if watcher is None:
        return
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(watcher, signal.SIGKILL)
        for _ in range(_STOP_WAITS):
            if os.waitpid(watcher, os.WNOHANG) != (0, 0):
                return
            time.sleep(_STOP_WAIT_S)
