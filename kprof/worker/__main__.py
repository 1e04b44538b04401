"""``python -m kprof.worker PIPE FOLDER``: do what FOLDER's request says, answer in FOLDER's file of updates.

PIPE is the descriptor whose end of file says that the command is gone; ``-`` where a tool (ncu) starts the worker and
its group is watched already. Under ncu ``KPROF_UNDER_NCU=1`` is set, for code that must start no profiler there.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from kprof.subprocesses.limits import limit_this_process
from kprof.subprocesses.processes import PID_FILE, adopt_orphans, end_strays
from kprof.subprocesses.watcher import start_watcher, stop_watcher


def _require_current_folder(instead: Path) -> None:
    """Stand in ``instead`` where the current folder has been deleted: libraries of torch's do not load without one."""
    try:
        Path.cwd()
    except OSError:
        os.chdir(instead)


def _leave_current_folder() -> None:
    """Take the current folder off ``sys.path``: a ``torch`` or ``triton.py`` in it must shadow nothing.

    ``PYTHONSAFEPATH`` does so from Python 3.11 on; 3.10 does not know it.
    """
    own = Path(__file__).resolve().parents[2]
    left = (Path.cwd().resolve(), own)
    sys.path[:] = [entry for entry in sys.path if entry and Path(entry).resolve() not in left]
    # Where kprof lies: site-packages of an installation, or a checkout, whose other folders must shadow nothing either.
    sys.path.append(str(own))


def _contain() -> None:
    """Bounded files; a crash or a hang shows its stack; orphans are ended with this process."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    limit_this_process()
    adopt_orphans()


def main() -> NoReturn:
    """Run the request and leave at once: threads and handlers of user code do not keep the process."""
    pipe, folder = sys.argv[1], Path(sys.argv[2])
    watcher = None if pipe == "-" else start_watcher(int(pipe))
    if pipe == "-":
        (folder / PID_FILE).write_text(str(os.getpid()))
    _require_current_folder(folder)
    _leave_current_folder()
    _contain()
    from kprof.worker.stages import run_request

    status = run_request(folder)
    # User code may have put anything in its place, or closed it, and may raise anything there.
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
    end_strays(os.getpid())
    stop_watcher(watcher)
    os._exit(status)


if __name__ == "__main__":
    main()
