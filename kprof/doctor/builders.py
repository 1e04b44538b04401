"""The programs that build extensions: found, asked for their version, and tried."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import ninja

from kprof.subprocesses.asking import Answer, ask_program

_ANSWER_S: Final = 20.0


@dataclass(frozen=True)
class Builders:
    """What came of the C++ compiler and of ninja."""

    compiler: str
    """Its name: ``CXX``, else ``c++``."""
    compiler_path: str | None = None
    """None: it is not on PATH."""
    compiler_version: str = ""
    built: Answer | None = None
    """What it said to a small program; None: it could not even be started."""
    ninja_path: Path | None = None
    ninja: Answer | None = None


def look_at_builders() -> Builders:
    """Find them and try them; none is an error."""
    path = Path(ninja.BIN_DIR) / "ninja"
    asked = ask_program((path, "--version"), _ANSWER_S)
    command = os.environ.get("CXX", "c++").split()
    found = shutil.which(command[0]) if command else None
    if found is None:
        return Builders(command[0] if command else "CXX", ninja_path=path, ninja=asked)
    version = ask_program((found, "--version"), _ANSWER_S)
    first = next(iter(version.output.splitlines()), "") if version is not None else ""
    return Builders(command[0], found, first, _build_one((found, *command[1:])), path, asked)


def _build_one(compiler: tuple[str, ...]) -> Answer | None:
    """A small program of the standard library's: a broken compiler says its version, too."""
    try:
        with tempfile.TemporaryDirectory(prefix="kprof-doctor-", ignore_cleanup_errors=True) as folder:
            source = Path(folder) / "one.cpp"
            source.write_text("#include <vector>\nint main() { return std::vector<int>(3, 1).size() != 3; }\n")
            return ask_program((*compiler, "-std=c++17", source, "-o", Path(folder) / "one"), _ANSWER_S)
    except OSError:
        return None
