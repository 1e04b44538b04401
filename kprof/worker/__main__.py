"""``python -m kprof.worker PIPE FOLDER``: do what FOLDER's request says, answer in FOLDER's file of updates.

PIPE is the descriptor whose end of file says that the command is gone.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Final, NoReturn

from kprof.worker.processes import end_strays
from kprof.worker.watcher import start_watcher, stop_watcher

# An option of prctl(2), from <linux/prctl.h>.
_PR_SET_CHILD_SUBREAPER: Final = 36


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
    """No core files; a crash or a hang shows its stack.

    Orphans fall to this process, wherever they have put themselves, so that they can be found and ended with it.
    """
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def main() -> NoReturn:
    """Run the request and leave at once: threads and handlers of user code do not keep the process."""
    watcher = start_watcher(int(sys.argv[1]))
    folder = Path(sys.argv[2])
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
