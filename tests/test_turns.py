"""Turns on one device: one at a time, freed by a death, and never a reason not to measure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.errors import CannotMeasureError
from kprof.turns import turn_on

REPO = Path(__file__).resolve().parents[1]


def never(board: str) -> None:
    raise AssertionError(f"waited for {board}")


def test_one_at_a_time_and_each_device_has_its_own(tmp_path: Path) -> None:
    told: list[str] = []
    with (
        turn_on("GPU-1", 5, never, tmp_path),
        turn_on("GPU-2", 5, never, tmp_path),
        pytest.raises(CannotMeasureError),
        turn_on("GPU-1", 0, told.append, tmp_path),
    ):
        pass
    assert told == ["GPU-1"]
    with turn_on("GPU-1", 0, never, tmp_path):
        pass


def test_a_death_frees_it_though_its_children_live(tmp_path: Path) -> None:
    script = (
        "import subprocess, time; from pathlib import Path; from kprof.turns import turn_on\n"
        f"with turn_on('GPU-1', 5, print, Path({str(tmp_path)!r})):\n"
        "    child = subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL)\n"
        "    print(child.pid, flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(REPO)}
    )
    assert holder.stdout is not None
    child = int(holder.stdout.readline())
    try:
        with pytest.raises(CannotMeasureError), turn_on("GPU-1", 0, lambda board: None, tmp_path):
            pass
        holder.kill()
        holder.wait()
        with turn_on("GPU-1", 0, never, tmp_path):
            pass
    finally:
        os.kill(child, 9)
        holder.stdout.close()


def test_everybody_may_lock_what_somebody_made(tmp_path: Path) -> None:
    with turn_on("cuda:0/../x", 0, never, tmp_path):
        (made,) = tmp_path.iterdir()
    assert made.name == ".kprof-cuda_0____x.lock"
    assert made.stat().st_mode & 0o777 == 0o444


def test_where_no_lock_can_be_made_the_run_goes_on(tmp_path: Path) -> None:
    with turn_on("GPU-1", 0, never, tmp_path / "nowhere"):
        pass
    (tmp_path / ".kprof-GPU-1.lock").symlink_to(tmp_path / "elsewhere")
    with turn_on("GPU-1", 0, never, tmp_path):
        assert not (tmp_path / "elsewhere").exists(), "a link is not followed"
