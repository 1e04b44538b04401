"""A command that is killed takes its workers with it, and the next one removes what it left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from kprof.errors import CannotMeasureError
from kprof.subprocesses.private import private_folder
from kprof.subprocesses.processes import process_stat

REPO = Path(__file__).resolve().parents[2]

COMMAND = """
import sys
from pathlib import Path
from kprof.evidence import Workload
from kprof.worker.protocol import Request
from kprof.worker.supervisor import Limits, Worker

where = Path(sys.argv[1])
workload = Workload(kernel_file="k.py", kernel_sha256="0", ref_file=None, ref_sha256=None, entry="ModelNew", seed=0)
request = Request(workload=workload, device="cpu", trials=5, stages=(), cache_dir=str(where))
# Two at once, as a run on a GPU has: neither may hold the other's pipe open.
workers = [Worker(request, (sys.executable, str(where / "worker.py"))) for _ in range(2)]
workers[0].follow(Limits(), lambda update: None)
"""
# The start of the real worker, without torch. One child in its group takes no notice of TERM, one has its own session.
WORKER = """
import ctypes, os, signal, subprocess, sys, time
from pathlib import Path
from kprof.subprocesses.watcher import start_watcher
watcher = start_watcher(int(sys.argv[-2]))
ctypes.CDLL(None).prctl(36, 1)
child = subprocess.Popen(['sleep', '600'], preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
stray = subprocess.Popen(['sleep', '600'], start_new_session=True)
written = Path(sys.argv[-1], 'pids')
written.with_name('new').write_text(f"{os.getpid()} {watcher} {child.pid} {stray.pid}")
written.with_name('new').rename(written)
time.sleep(600)
"""


def alive(pid: int) -> bool:
    stat = process_stat(pid)
    return stat is not None and not stat.ended


def wait_until(what: str, holds: object, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline, f"{what} not within {within_s} s"
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="strays are found through /proc, which Linux alone has")
def test_kill_9_of_the_command_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "command.py").write_text(COMMAND)
    command = subprocess.Popen(
        [sys.executable, str(tmp_path / "command.py"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(REPO), "TMPDIR": str(tmp_path)},
    )
    try:
        wait_until("both started", lambda: len(list(tmp_path.glob("kprof-*/pids"))) == 2, 20)
        folders = list(tmp_path.glob("kprof-*"))
        pids = [int(pid) for folder in folders for pid in (folder / "pids").read_text().split()]
        assert all(alive(pid) for pid in pids)
        with private_folder() as own:
            assert all(folder.exists() for folder in (*folders, Path(own))), "what lives is not swept"
    finally:
        command.kill()
    # Not reaped yet, as where its parent has other things to do.
    wait_until("all gone", lambda: not any(alive(pid) for pid in pids), 2)
    with private_folder() as own:
        assert [Path(own)] == list(tmp_path.glob("kprof-*"))
    assert command.wait() == -signal.SIGKILL


def test_folders_that_are_not_known_to_be_abandoned_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    marks = {"none": None, "empty": "", "elsewhere": "1 1 pid:[1] another-machine", "words": "a b c d"}
    for name, mark in marks.items():
        (tmp_path / f"kprof-{name}").mkdir()
        if mark is not None:
            (tmp_path / f"kprof-{name}" / "owner").write_text(mark)
    with private_folder() as own:
        assert Path(own).stat().st_mode & 0o077 == 0
        assert len(list(tmp_path.iterdir())) == len(marks) + 1
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"kprof-{name}" for name in marks)


def test_no_room_for_temporary_files_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(CannotMeasureError, match="no temporary folder can be written: No such file") as caught:
        private_folder()
    assert caught.value.code == "no_temporary_folder"
    assert "TMPDIR" in caught.value.hint
