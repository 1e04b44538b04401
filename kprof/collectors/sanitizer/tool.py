"""Finds compute-sanitizer, and the command line of one run of it, up to the program that it starts."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kprof.errors import CannotMeasureError
from kprof.sanitizer_evidence import SanitizerTool
from kprof.subprocesses.asking import ask

NAME: Final = "compute-sanitizer"
MOST_PRINTED: Final = 1000
"""Reports that a run writes down at most; it counts the others."""
_ANSWER_S: Final = 60.0
_VERSION: Final = re.compile(r"^Version (\d+(?:\.\d+)+)", re.MULTILINE)
_TOOLKIT_VARIABLES: Final = ("CUDA_HOME", "CUDA_PATH")
_USUAL_PLACES: Final = ("/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer")


@dataclass(frozen=True)
class Sanitizer:
    """A compute-sanitizer that was found."""

    path: Path
    version: str | None


def find_sanitizer() -> Sanitizer:
    """The first on PATH, else the one of the toolkit that CUDA_HOME or CUDA_PATH names, else of the usual place.

    Raises:
        CannotMeasureError: ``sanitizer_not_found``.
    """
    toolkits = (os.environ.get(name) for name in _TOOLKIT_VARIABLES)
    folders = [f"{toolkit}/{part}" for toolkit in toolkits if toolkit for part in ("bin", "compute-sanitizer")]
    path = shutil.which(NAME) or shutil.which(NAME, path=os.pathsep.join((*folders, *_USUAL_PLACES)))
    if path is None:
        raise CannotMeasureError(
            "sanitizer_not_found",
            f"there is no {NAME} on PATH or in the CUDA toolkit",
            "Install it (it comes with the CUDA toolkit), and put its folder on PATH or set CUDA_HOME.",
        )
    # Not resolved: it may be a script that looks for its tool beside the name it was called by.
    found = Path(path).absolute()
    version = _VERSION.search(ask(found, "--version", limit_s=_ANSWER_S) or "")
    return Sanitizer(found, version[1] if version else None)


def sanitizer_command(sanitizer: Sanitizer, tool: SanitizerTool, log: Path) -> tuple[str, ...]:
    """The arguments, the program left out, which follows with nothing between.

    Errors that API calls return are not reported: torch makes calls that fail as a matter of course, and what fails in
    the kernel's own the kernel raises.
    """
    arguments = [str(sanitizer.path), "--tool", tool, "--log-file", str(log)]
    arguments += ["--target-processes", "application-only", "--print-limit", str(MOST_PRINTED)]
    arguments += ["--show-backtrace", "device"]
    if tool == "memcheck":
        arguments += ["--report-api-errors", "no"]
    return tuple(arguments)
