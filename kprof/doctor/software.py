"""Checks of what the main job needs on any machine: Python, torch, compilers, room for files."""

from __future__ import annotations

import platform
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Final

from kprof.cache import cache_max_bytes, entries
from kprof.doctor.facts import Facts
from kprof.doctor.records import Check
from kprof.errors import UsageError

_ALL: Final = "everything is measured through it"
_BUILDS: Final = "kernels in C++ and CUDA (load_inline) are compiled with it"
_TRIED_TORCH: Final = (2, 4)
_LEAST_FREE_BYTES: Final = 2e9
"""A build of one extension takes some 10 MB, torch's own bytecode 100, a report of ncu up to 150."""


def python_check(facts: Facts) -> Check:
    found = f"Python {platform.python_version()} at {sys.executable}"
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    why = "kprof runs on it, and extensions are built against its headers"
    if not header.exists():
        hint = f"Install Python's headers (python3-dev, or python{sys.version_info[0]}.{sys.version_info[1]}-dev)."
        return Check(name="python", state="fail", found=f"{found}; {header} is missing", why=why, hint=hint)
    return Check(name="python", state="ok", found=found, why=why)


def torch_check(facts: Facts) -> Check:
    torch, failed = facts.installation, facts.torch.failed
    if torch is None:
        told = failed.message if failed is not None else "it does not answer"
        hint = failed.hint if failed is not None else ""
        return Check(name="torch", state="fail", found=told, why=_ALL, hint=hint)
    built = f"for CUDA {torch.cuda}" if torch.cuda else "for the CPU"
    found = f"torch {torch.torch}, built {built}, {torch.threads} threads"
    found += f", Triton {torch.triton}" if torch.triton else ""
    version = tuple(int(part) for part in torch.torch.split("+")[0].split(".")[:2] if part.isdigit())
    if version < _TRIED_TORCH:
        return Check(name="torch", state="warn", found=found, why=_ALL, hint="kprof asks for torch 2.4 or newer.")
    return Check(name="torch", state="ok", found=found, why=_ALL)


def compiler_check(facts: Facts) -> Check:
    """A C++ compiler that really compiles."""
    seen = facts.builders
    if seen.compiler_path is None:
        hint = "Install g++, or set CXX to a compiler."
        return Check(name="compiler", state="fail", found=f"{seen.compiler} is not on PATH", why=_BUILDS, hint=hint)
    if seen.built is None or seen.built.status != 0:
        printed = seen.built.output.splitlines() if seen.built is not None else []
        line = next((line for line in printed if "error" in line), "no output")
        found = f"{seen.compiler_path} does not compile a small program: {line}"
        return Check(name="compiler", state="fail", found=found, why=_BUILDS, hint="Install g++ with its C++ library.")
    return Check(name="compiler", state="ok", found=seen.compiler_version or seen.compiler_path, why=_BUILDS)


def ninja_check(facts: Facts) -> Check:
    answer, why = facts.builders.ninja, "torch builds extensions with it"
    if answer is None or answer.status != 0:
        found = f"{facts.builders.ninja_path} does not run"
        return Check(name="ninja", state="fail", found=found, why=why, hint="pip install --force-reinstall ninja")
    return Check(name="ninja", state="ok", found=f"ninja {answer.output.strip()}", why=why)


def cache_check(facts: Facts) -> Check:
    why = "compiled extensions are kept there: without it each run compiles again"
    root = facts.cache_root
    try:
        limit = cache_max_bytes()
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root) as stream:
            stream.write(b"0")
    except UsageError as error:
        return Check(name="cache", state="fail", found=error.message, why=why, hint=error.hint)
    except OSError as error:
        hint = "Point KPROF_CACHE_DIR at a folder that can be written."
        return Check(name="cache", state="fail", found=f"{root}: {error.strerror or error}", why=why, hint=hint)
    used = sum(entry.size_bytes for entry in entries(root))
    found = f"{root}: {used / 1e6:.0f} of {limit / 1e6:.0f} MB used"
    return _with_room("cache", root, found, why, "KPROF_CACHE_DIR")


def temporary_check(facts: Facts) -> Check:
    why = "workers answer through files there"
    try:
        folder = Path(tempfile.gettempdir())
    except OSError:
        hint = "Set TMPDIR to a folder that can be written and has room."
        found = "no temporary folder can be written"
        return Check(name="temporary_folder", state="fail", found=found, why=why, hint=hint)
    return _with_room("temporary_folder", folder, str(folder), why, "TMPDIR")


def _with_room(name: str, folder: Path, found: str, why: str, variable: str) -> Check:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check(name=name, state="warn", found=f"{found}; room not known: {error.strerror}", why=why)
    found = f"{found}; {free / 1e9:.1f} GB free"
    if free < _LEAST_FREE_BYTES:
        hint = f"Make room, or point {variable} elsewhere."
        return Check(name=name, state="warn", found=found, why=why, hint=hint)
    return Check(name=name, state="ok", found=found, why=why)
