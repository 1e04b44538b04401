"""Where the module that reads binary reports comes from: the package, or the one that Nsight Compute brings along."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Final

from kprof.errors import InputFileError

_MODULE: Final = "ncu_report"
NO_READER_HINT: Final = (
    "pip install ncu-report, or export a table with `ncu --import run.ncu-rep --csv --page raw > run.csv`."
)
_INSTALLATIONS: Final = Path("/opt/nvidia/nsight-compute")
_EXTRAS: Final = Path("extras", "python")
_FOLDERS_UP: Final = 4
"""From the executable (``target/linux-desktop-.../ncu``) to the installation, and from there to a CUDA toolkit."""


class NoReportReaderError(InputFileError):
    """Nothing here can read a binary report; its CSV export could be read."""


def find_module(name: str = _MODULE, folders: Iterable[Path] | None = None) -> ModuleType:
    """The module `ncu_report`: installed, or from one of ``folders``; ``sys.path`` stays as it is.

    Args:
        folders: by default those of the Nsight Compute installations here.

    Raises:
        NoReportReaderError: it is nowhere.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        why = str(error)
    for folder in installed_folders() if folders is None else folders:
        sys.path.insert(0, str(folder))
        try:
            return importlib.import_module(name)
        except ImportError as error:
            why = str(error)
        finally:
            sys.path.remove(str(folder))
    raise NoReportReaderError(
        f"a binary report needs the Python module {name}, which cannot be loaded here ({why})",
        NO_READER_HINT,
    )


def installed_folders() -> tuple[Path, ...]:
    """``extras/python`` of the ncu on PATH, then of the installations under /opt/nvidia, newest first."""
    roots: list[Path] = []
    command = shutil.which("ncu")
    if command is not None:
        for folder in Path(command).resolve().parents[:_FOLDERS_UP]:
            roots += [folder, *_newest_first(folder.glob("nsight-compute*"))]
    roots += _newest_first(_INSTALLATIONS.glob("*"))
    return tuple(folder for root in dict.fromkeys(roots) if (folder := root / _EXTRAS).is_dir())


def _newest_first(roots: Iterable[Path]) -> list[Path]:
    return sorted(roots, key=lambda root: [int(number) for number in re.findall(r"[0-9]+", root.name)], reverse=True)
