"""``python -m kprof.subprocesses.launcher PIPE PROGRAM ...``: become a program, watched as a worker is.

Such a program (ncu) knows nothing of the command's life: the watcher that is started here ends its whole group once the
command is gone, as it does for a worker that is started directly.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Final, NoReturn

from kprof.subprocesses.processes import adopt_orphans
from kprof.subprocesses.watcher import start_watcher

CANNOT_START: Final = 127


def main() -> NoReturn:
    """Start the watcher, then be the program."""
    start_watcher(int(sys.argv[1]))
    program = sys.argv[2:]
    adopt_orphans()
    # Python ignores these, and what is ignored stays so in the program.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(program[0], program)
    except OSError as error:
        sys.stderr.write(f"{program[0]} cannot be started: {error.strerror}\n")
        sys.exit(CANNOT_START)


if __name__ == "__main__":
    main()
