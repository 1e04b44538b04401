"""The processes below a worker: how they are found and ended. Every wait is bounded.

What user code starts stays in the worker's group unless it asks for a session of its own. Such strays are found by
their parents: the worker is the one to whom its orphans fall (a subreaper), so that all of them stay below it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

LAUNCHER: Final = (sys.executable, "-m", "kprof.subprocesses.launcher")
"""Followed by the read end of a pipe that ends with this process, then a program: runs it, and ends it with us."""
TERM_GRACE_S: Final = 2.0
REAP_S: Final = 5.0
PID_FILE: Final = "pid"
"""In the private folder: the worker's process id, where it is not the process that the command started."""
# An option of prctl(2), from <linux/prctl.h>. It stays when the process becomes another program.
_PR_SET_CHILD_SUBREAPER: Final = 36
_STRAY_ROUNDS: Final = 5
_ROUND_S: Final = 0.01


class ProcessStat(NamedTuple):
    """What /proc/PID/stat says of one process (proc_pid_stat(5))."""

    ended: bool
    """It is a zombie: over, but for its parent's asking."""
    parent: int
    group: int
    start: int
    """Ticks since the machine started: with the process id it names a process for good."""


def process_stat(pid: int) -> ProcessStat | None:
    """One process; None where there is none, and on systems without /proc."""
    try:
        content = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The command's name comes in brackets and may hold anything: what follows the last one is plain.
    fields = content.rpartition(b")")[2].split()
    return ProcessStat(fields[0] in (b"Z", b"X"), int(fields[1]), int(fields[2]), int(fields[19]))


def worker_pid(folder: Path) -> int | None:
    """The worker's process id, where it wrote one into its private folder."""
    try:
        return int((folder / PID_FILE).read_text())
    except (OSError, ValueError):
        return None


def descendants(root: int) -> dict[int, ProcessStat]:
    """All processes below ``root`` that still run; empty on systems without /proc."""
    try:
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    except OSError:
        return {}
    stats = {pid: stat for pid in pids if (stat := process_stat(pid)) is not None}
    children: dict[int, list[int]] = {}
    for pid, stat in stats.items():
        children.setdefault(stat.parent, []).append(pid)
    found: dict[int, ProcessStat] = {}
    waiting = [root]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found[child] = stats[child]
                waiting.append(child)
    return {pid: stat for pid, stat in found.items() if not stat.ended}


def adopt_orphans() -> None:
    """Orphans below this process fall to it, wherever they have put themselves: so they can be found and ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_strays(leader: int) -> None:
    """Kill what runs below ``leader`` outside its process group. Again, a few times, for what they start meanwhile."""
    for _ in range(_STRAY_ROUNDS):
        strays = [pid for pid, stat in descendants(leader).items() if stat.group != leader]
        if not strays:
            return
        for pid in strays:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_ROUND_S)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End the worker's process group and its strays: TERM, a grace, KILL; every wait is bounded.

    Grandchildren are ended too, also when the worker itself has gone. A process stuck in the driver may survive KILL;
    the command goes on without it.
    """
    if process.poll() is None:
        # Before the worker goes: without it nobody knows whose they were.
        end_strays(process.pid)
        _signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(TERM_GRACE_S)
    if process.returncode is None:
        end_strays(process.pid)
    _signal_group(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(REAP_S)


def _signal_group(group: int, number: signal.Signals) -> None:
    # The group is the worker's own (start_new_session), never ours.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
