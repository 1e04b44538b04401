"""``python -m kprof.worker FOLDER``: do what FOLDER's request says, answer in FOLDER's file of updates."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def _leave_current_folder() -> None:
    """Take the current folder off ``sys.path``: a ``torch`` or ``triton.py`` in it must shadow nothing.

    ``PYTHONSAFEPATH`` does so from Python 3.11 on; 3.10 does not know it.
    """
    current = Path.cwd().resolve()
    own = Path(__file__).resolve().parents[2]
    sys.path[:] = [entry for entry in sys.path if entry and Path(entry).resolve() not in (current, own)]
    # Where kprof lies: site-packages of an installation, or a checkout, whose other folders must shadow nothing either.
    sys.path.append(str(own))


def _contain() -> None:
    """No core files, and death with the command: nothing of a run outlives it. A crash or a hang shows its stack."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    """Run the request and leave at once: threads and handlers of user code do not keep the process."""
    _leave_current_folder()
    _contain()
    from kprof.worker.stages import run_request

    run_request(Path(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
