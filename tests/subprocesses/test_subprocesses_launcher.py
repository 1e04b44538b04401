"""A worker that a tool starts: the same answers, the same bounds, and nothing left behind whoever dies first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kprof.evidence import Workload
from kprof.subprocesses.launcher import CANNOT_START
from kprof.subprocesses.processes import process_stat, worker_pid
from kprof.worker.outcome import Outcome
from kprof.worker.protocol import Request
from kprof.worker.supervisor import Limits, Tool, Worker

REPO = Path(__file__).resolve().parents[2]
WORKLOAD = Workload(kernel_file="k.py", kernel_sha256="0", ref_file=None, ref_sha256=None, entry="ModelNew", seed=0)
# As a real worker begins and ends, without torch.
SCRIPT = """
import json, os, signal, subprocess, sys, time
pipe, folder = sys.argv[1:]
open(os.path.join(folder, "pid"), "w").write(str(os.getpid()))
count = 0
def send(**update):
    global count
    count += 1
    if update.get("finished") == "worker": update["sent"] = count
    with open(os.path.join(folder, "updates.jsonl"), "a") as stream:
        stream.write(json.dumps(update) + "\\n")
def done(): send(finished="worker")
"""
Run = Callable[..., tuple[Outcome, tuple[str, ...]]]


def request(cache: Path) -> Request:
    return Request(workload=WORKLOAD, device="cpu", trials=1, stages=("counters",), cache_dir=str(cache))


def tool_of(path: Path, text: str) -> Path:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def call(tool: str, body: str, **limits: float) -> tuple[Outcome, tuple[str, ...]]:
        (tmp_path / "worker.py").write_text(SCRIPT + body)
        script = tool_of(tmp_path / "tool", tool)
        started = Tool(lambda folder: (str(script), "--log", str(folder / "log")), {"KPROF_UNDER_NCU": "1"})
        with Worker(request(tmp_path), (sys.executable, str(tmp_path / "worker.py")), started) as worker:
            outcome = worker.follow(Limits(**limits), lambda update: None)
            assert worker_pid(worker.folder) is not None or "shift 2" not in tool
        return outcome, worker.command

    return call


def test_the_tool_gets_its_options_then_the_worker(run: Run, tmp_path: Path) -> None:
    outcome, command = run(f'echo "$@" > {tmp_path}/args; shift 2; "$@"', "print(os.environ['TMPDIR']); done()")
    assert (outcome.lost, outcome.status) == (False, 0)
    folder = command[-1]
    assert command == (
        str(tmp_path / "tool"), "--log", f"{folder}/log", sys.executable, str(tmp_path / "worker.py"), "-", folder,
    )  # fmt: skip
    assert outcome.output_tail == f"{folder}/tmp\n"
    assert (tmp_path / "args").read_text().split() == list(command[1:])


def test_the_tools_own_status_is_told_beside_the_workers_end(run: Run) -> None:
    outcome, _ = run('shift 2; "$@"; exit 9', "done()")
    assert (outcome.finished, outcome.status) == (True, 9)


def test_a_tool_that_never_starts_the_worker_is_no_end(run: Run) -> None:
    outcome, _ = run("echo nothing to do", "done()")
    assert (outcome.lost, outcome.finished, outcome.status) == (True, False, 0)
    assert outcome.output_tail == "nothing to do\n"


def test_a_tool_that_cannot_be_started_is_said(tmp_path: Path) -> None:
    (tmp_path / "tool").write_bytes(b"\x7fELF nothing")
    (tmp_path / "tool").chmod(0o755)
    with Worker(request(tmp_path), ("worker",), Tool(lambda folder: (str(tmp_path / "tool"),), {})) as worker:
        outcome = worker.follow(Limits(), lambda update: None)
    assert outcome.status == CANNOT_START
    assert "tool cannot be started: Exec format error" in outcome.output_tail


def test_a_tool_is_not_made_to_ignore_what_python_ignores(run: Run) -> None:
    outcome, _ = run("grep SigIgn /proc/self/status", "")
    ignored = int(outcome.output_tail.split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1))


HANGS = """
import faulthandler
faulthandler.register(signal.SIGUSR1)
open({!r}, "w").write(str(os.getpid()))
def stuck_here(): time.sleep(600)
send(entered="counters"); stuck_here()
"""


def test_a_hang_shows_the_workers_stack_and_ends_with_everything(run: Run, tmp_path: Path) -> None:
    tool = f'trap "" TERM; sleep 600 & echo $! > {tmp_path}/child; (setsid sleep 601 & echo $! > {tmp_path}/stray)\n'
    began = time.monotonic()
    outcome, _ = run(tool + 'shift 2; "$@"; echo ended', HANGS.format(str(tmp_path / "worker")), stage_s=1.5)
    assert outcome.expired_after_s == 1.5
    assert "stuck_here" in outcome.output_tail
    assert time.monotonic() - began < 10
    assert gone([int((tmp_path / name).read_text()) for name in ("child", "stray", "worker")])


COMMAND = """
import sys
from pathlib import Path
from kprof.evidence import Workload
from kprof.worker.protocol import Request
from kprof.worker.supervisor import Limits, Tool, Worker

where = Path(sys.argv[1])
workload = Workload(kernel_file="k.py", kernel_sha256="0", ref_file=None, ref_sha256=None, entry="ModelNew", seed=0)
request = Request(workload=workload, device="cpu", trials=1, stages=(), cache_dir=str(where))
tool = Tool(lambda folder: (str(where / "tool"),), {})
Worker(request, (sys.executable, str(where / "worker.py")), tool).follow(Limits(), lambda update: None)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="strays are found through /proc, which Linux alone has")
def test_kill_9_of_the_command_leaves_neither_tool_nor_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tool_of(tmp_path / "tool", f'echo $$ > {tmp_path}/pid.tool; "$@"; sleep 600')
    stray = (
        f"p = subprocess.Popen(['sleep', '600'], start_new_session=True)\nopen({str(tmp_path / 'pid.stray')!r}, 'w')"
    )
    ready = f"open({str(tmp_path / 'pid.worker')!r}, 'w').write(str(os.getpid()))"
    (tmp_path / "worker.py").write_text(f"{SCRIPT}\n{stray}.write(str(p.pid))\n{ready}\ntime.sleep(600)\n")
    (tmp_path / "command.py").write_text(COMMAND)
    command = subprocess.Popen(
        [sys.executable, str(tmp_path / "command.py"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(REPO), "TMPDIR": str(tmp_path)},
    )
    try:
        files = [tmp_path / f"pid.{name}" for name in ("tool", "worker", "stray")]
        deadline = time.monotonic() + 20
        while not all(file.exists() and file.read_text() for file in files):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        pids = [int(file.read_text()) for file in files]
        assert all(runs(pid) for pid in pids)
    finally:
        command.kill()
    assert gone(pids)
    assert command.wait() == -signal.SIGKILL


def runs(pid: int) -> bool:
    stat = process_stat(pid)
    return stat is not None and not stat.ended


def gone(pids: list[int], within_s: float = 3.0) -> bool:
    deadline = time.monotonic() + within_s
    while any(map(runs, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(runs, pids))
