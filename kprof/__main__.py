"""``python -m kprof`` is the same command as ``kprof``."""

from __future__ import annotations

import os
import sys


def _put_working_folder_last() -> None:
    """Take off the import path what ``python -m`` put first on it: the current folder.

    A ``json.py`` or a ``numpy`` that lies there would run in kprof's own process. Where kprof itself lies there, as in
    a checkout, the folder goes last.
    """
    if getattr(sys.flags, "safe_path", False):  # then nothing was put there
        return
    here = sys.path[0]
    if os.path.realpath(here) != os.path.realpath("."):  # not pathlib: it could be what lies there
        return
    del sys.path[0]
    if os.path.isfile(os.path.join(here, "kprof", "__main__.py")):  # noqa: PTH113, PTH118
        sys.path.append(here)


if __name__ == "__main__":
    _put_working_folder_last()
    from kprof.cli import main

    main()
