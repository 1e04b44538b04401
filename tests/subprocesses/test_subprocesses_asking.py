"""A program that is asked about itself may do what it likes: the answer comes in time or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from kprof.subprocesses.asking import ask, ask_program
from kprof.subprocesses.processes import process_stat

REPO = Path(__file__).resolve().parents[2]


def program(folder: Path, body: str) -> Path:
    path = folder / "tool"
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def test_it_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "x")
    tool = program(tmp_path, 'echo "$1 $LC_ALL $MORE ${SOME_TOKEN-none}"; echo error >&2; ulimit -c')
    answer = ask_program((tool, "--version"), 20, {"MORE": "m"})
    assert answer is not None
    assert (answer.status, answer.output.splitlines()[:2]) == (0, ["--version C m none", "error"])
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("body", ["exit 3", "kill -9 $$"])
def test_a_failure_is_no_answer(tmp_path: Path, body: str) -> None:
    assert ask(program(tmp_path, f"echo words; {body}"), limit_s=20) is None
    assert ask(tmp_path / "nowhere", limit_s=20) is None
    assert ask_program(("no-such-program-here",), 20) is None
    (tmp_path / "tool").write_text("#!/no/such/interpreter\n")
    assert ask_program((tmp_path / "tool",), 20) is None


def test_a_hang_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    tool = program(tmp_path, f"sleep 600 & echo $! > {tmp_path}/child; trap '' TERM; sleep 600")
    began = time.monotonic()
    assert ask(tool, limit_s=1) is None
    assert time.monotonic() - began < 9
    stat = process_stat(int((tmp_path / "child").read_text()))
    assert stat is None or stat.ended


def test_it_ends_with_a_command_that_is_killed(tmp_path: Path) -> None:
    tool = program(tmp_path, f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; sleep 600")
    script = (
        f"from pathlib import Path; from kprof.subprocesses.asking import ask; ask(Path({str(tool)!r}), limit_s=99)"
    )
    command = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(REPO)})
    deadline = time.monotonic() + 20
    while not (tmp_path / "pid").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    pid = int((tmp_path / "pid").read_text())
    command.kill()
    command.wait()
    while (stat := process_stat(pid)) is not None and not stat.ended:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_its_temporary_folder_goes_with_it_and_variables_reach_it() -> None:
    answer = ask_program(("/bin/sh", "-c", 'touch "$TMPDIR/left"; echo "$TMPDIR"; echo "$MORE"'), 10, {"MORE": "x"})
    assert answer is not None
    folder, more = answer.output.split()
    assert more == "x"
    assert not Path(folder).exists()
