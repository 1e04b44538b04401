"""The set-up names everything that a machine lacks, at once, before it installs anything."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]


def check(folder: Path, *present: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the check with nothing on PATH but ``present``."""
    for name in present:
        target = sys.executable if name == "python3" else shutil.which(name)
        assert target is not None
        (folder / name).symlink_to(target)
    return subprocess.run(
        [str(shutil.which("sh")), str(REPO / "scripts" / "need.sh")],
        env={"PATH": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_is_missing_here() -> None:
    if shutil.which("c++") is None:
        pytest.skip("needs a C++ compiler named c++ (found none)")
    done = subprocess.run(["make", "-s", "need"], cwd=REPO, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_all_that_is_missing_is_named_at_once(tmp_path: Path) -> None:
    done = check(tmp_path)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    assert "missing python3" in lines[0]
    assert "apt-get install python3" in lines[0]
    assert "missing a C++ compiler" in lines[1]


def test_the_compiler_that_cxx_names_is_the_one_looked_for(tmp_path: Path) -> None:
    done = check(tmp_path, "python3", CXX="clang++-99")
    assert "no clang++-99 on PATH" in done.stderr
    assert "python3" not in done.stderr.replace("python3-dev", "").replace("apt-get install python3", "")


def test_a_python_without_venv_is_named(tmp_path: Path) -> None:
    fake = tmp_path / "python3"
    fake.write_text(f'#!/bin/sh\ncase "$*" in *venv*) exit 1;; esac\nexec {sys.executable} "$@"\n')
    fake.chmod(0o755)
    done = check(tmp_path, "sh")
    assert "missing Python's venv module" in done.stderr
    assert done.returncode == 1
