"""Runs the command as a user does, for tests of the whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[1]
LOGSUMEXP = REPO / "kernels" / "logsumexp"

EXAMPLE = ("analyze", LOGSUMEXP / "cpu.py", "--ref", LOGSUMEXP / "ref.py", "--set", "R=8", "--set", "B=64")


@dataclass
class Run:
    """One run of the command."""

    code: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def report(self) -> dict[str, Any]:
        """The report on stdout: strict JSON, nothing beside it."""
        return json.loads(self.stdout, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))  # type: ignore[no-any-return]

    def block(self, name: str) -> dict[str, Any]:
        return self.report["blocks"][name]  # type: ignore[no-any-return]


@dataclass
class BuiltExample:
    """The run that built cpu.py, and the cache that holds what it built."""

    first: Run
    cache: Path


def run_kprof(*arguments: str | Path, cwd: Path, cache: Path, **environment: str) -> Run:
    """One run in a process of its own, from ``cwd``; no traceback ever reaches the user."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "kprof", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={
            **os.environ,
            "KPROF_CACHE_DIR": str(cache),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(REPO), os.environ.get("PYTHONPATH")))),
            **environment,
        },
        timeout=250,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - began)


def run_analyze(kernel: str | Path, ref: str | Path, *arguments: str, folder: Path, cache: Path) -> Run:
    """``kprof analyze`` of two files, or of two sources, which are written to ``folder`` first."""
    paths = []
    for name, source in (("kernel.py", kernel), ("ref.py", ref)):
        if isinstance(source, str):
            (folder / name).write_text(source)
        paths.append(source if isinstance(source, Path) else folder / name)
    return run_kprof("analyze", paths[0], "--ref", paths[1], *arguments, cwd=folder, cache=cache)
