"""A worker can do what it likes; the command learns what happened, in bounded time, and nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kprof.evidence import Fault, Side, Workload
from kprof.subprocesses import processes
from kprof.worker import supervisor
from kprof.worker.outcome import Outcome
from kprof.worker.protocol import Request, Update, encode_side
from kprof.worker.supervisor import Limits, Worker
from kprof.worker.tail import TAIL_BYTES

# A stand-in for the worker's program that follows the protocol with no torch, so that these tests take no seconds.
SCRIPT = """
import json, os, sys, time, signal, subprocess
folder = sys.argv[-1]
count = 0
def send(**update):
    global count
    count += 1
    if update.get("finished") == "worker": update["sent"] = count
    with open(os.path.join(folder, "updates.jsonl"), "a") as stream:
        stream.write(json.dumps(update) + "\\n")
def side(mark):
    with open(os.path.join(folder, "side"), "w") as stream:
        stream.write(mark)
def enter(stage): send(entered=stage)
def done(): send(finished="worker")
"""


def asked(cache: Path, held: bool = False) -> Request:
    workload = Workload(kernel_file="k.py", kernel_sha256="0", ref_file=None, ref_sha256=None, entry="ModelNew", seed=0)
    return Request(workload=workload, device="cpu", trials=5, stages=("timing",), held=held, cache_dir=str(cache))


Run = Callable[..., tuple[Outcome, float]]


@pytest.fixture
def seen() -> list[Update]:
    return []


@pytest.fixture
def run(tmp_path: Path, seen: list[Update]) -> Run:
    def call(body: str, **limits: float) -> tuple[Outcome, float]:
        script = tmp_path / "worker.py"
        script.write_text(SCRIPT + body)
        began = time.monotonic()
        with Worker(asked(tmp_path), (sys.executable, str(script))) as worker:
            outcome = worker.follow(Limits(**limits), seen.append)
        return outcome, time.monotonic() - began

    return call


def fault(outcome: Outcome) -> Fault:
    assert outcome.lost
    assert outcome.fault is not None
    return outcome.fault


def test_a_worker_that_says_it_is_done_has_no_fault(run: Run, seen: list[Update]) -> None:
    outcome, _ = run("enter('timing'); print('{\"fault\": 1}'); done()")
    assert (outcome.lost, outcome.fault) == (False, None)
    assert [update.entered for update in seen] == ["timing", None]
    assert outcome.output_tail == '{"fault": 1}\n'


def test_a_signal_is_named_with_stage_and_side(run: Run) -> None:
    outcome, _ = run("enter('precision'); side('k'); print('last words', flush=True); os.kill(os.getpid(), 11)")
    found = fault(outcome)
    assert (found.code, found.stage, found.side) == ("crashed", "precision", "kernel")
    assert "SIGSEGV" in found.message
    assert "last words" in found.detail


@pytest.mark.parametrize("status", [0, 7])
def test_leaving_without_a_word_is_a_fault_whatever_the_status(run: Run, status: int) -> None:
    outcome, _ = run(f"enter('timing'); side('r'); os._exit({status})")
    found = fault(outcome)
    assert (found.code, found.stage, found.side) == ("exited", "timing", "ref")
    assert f"status {status}" in found.message


def test_a_fault_that_the_worker_told_itself_is_not_doubled(run: Run) -> None:
    told = "dict(stage='timing', side='kernel', code='cuda_error', message='m')"
    outcome, _ = run(f"enter('timing'); send(fault={told}); os._exit(3)")
    assert outcome.lost
    assert outcome.fault is None


def test_a_hang_ends_with_its_grandchildren_and_keeps_what_came(run: Run, tmp_path: Path, seen: list[Update]) -> None:
    pid_file = tmp_path / "pid"
    body = f"""
enter('timing'); side('k'); send(finished='load')
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(['sleep', '600'], preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
open({str(pid_file)!r}, 'w').write(str(child.pid))
time.sleep(600)
"""
    outcome, took = run(body, stage_s=1.0)
    found = fault(outcome)
    assert (found.code, found.stage, found.side) == ("timeout", "timing", "kernel")
    assert any(update.finished == "load" for update in seen)
    assert took < 1.0 + processes.TERM_GRACE_S + processes.REAP_S
    grandchild = int(pid_file.read_text())
    deadline = time.monotonic() + 5
    while _alive(grandchild) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(grandchild)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_grandchild_that_holds_the_pipe_delays_nothing(run: Run) -> None:
    outcome, took = run("p = subprocess.Popen(['sleep', '60'], start_new_session=True); print(p.pid); done()")
    os.kill(int(outcome.output_tail), signal.SIGKILL)
    assert took < 5


def test_a_build_has_a_clock_of_its_own(run: Run) -> None:
    slow_build = "enter('precision'); send(building='ext'); time.sleep(1.5); send(building=''); done()"
    assert not run(slow_build, stage_s=1.0, build_s=10.0)[0].lost
    outcome, _ = run("enter('precision'); side('k'); send(building='ext'); time.sleep(60)", stage_s=60.0, build_s=0.5)
    found = fault(outcome)
    assert (found.code, found.stage) == ("build_timeout", "build")
    assert "'ext'" in found.message


def test_a_flood_of_output_is_kept_as_a_tail(run: Run) -> None:
    outcome, _ = run("print('x' * 50_000_000 + 'end'); done()")
    assert len(outcome.output_tail) <= TAIL_BYTES
    assert outcome.output_tail.endswith("end\n")


def test_the_private_folder_is_gone_after(run: Run, tmp_path: Path) -> None:
    where = tmp_path / "where"
    run(f"open({str(where)!r}, 'w').write(folder); done()")
    assert not Path(where.read_text()).exists()


def test_a_held_worker_waits_until_it_is_followed(tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(SCRIPT + "while not os.path.exists(os.path.join(folder, 'go')): time.sleep(0.01)\ndone()\n")
    with Worker(asked(tmp_path, held=True), (sys.executable, str(script))) as worker:
        time.sleep(0.5)
        assert worker._process.poll() is None
        assert not worker.follow(Limits(), lambda update: None).lost


def test_a_held_worker_that_is_never_followed_is_ended(tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text("import time\ntime.sleep(600)\n")
    with Worker(asked(tmp_path, held=True), (sys.executable, str(script))) as worker:
        pass
    assert worker._process.returncode == -signal.SIGTERM


@pytest.mark.parametrize(("side", "mark"), [("kernel", b"k"), ("ref", b"r"), (None, b"-")])
def test_the_mark_of_a_side_reads_back(tmp_path: Path, side: Side | None, mark: bytes) -> None:
    assert encode_side(side) == mark
    (tmp_path / "side").write_bytes(mark)
    assert supervisor.decode_side(tmp_path / "side") == side
    assert supervisor.decode_side(tmp_path / "gone") is None


def test_a_signal_without_a_name_has_its_number(run: Run) -> None:
    found = fault(run("enter('timing'); side('k'); os.kill(os.getpid(), 40)")[0])
    assert (found.code, found.side) == ("crashed", "kernel")
    assert "died of signal 40 " in found.message


GARBAGE = """
updates = open(os.path.join(folder, "updates.jsonl"), "ab", buffering=0)
enter('timing')
for junk in (b'hello', b'\\xff\\xfe', b'{"entered": 7}', b'[' * 100_000, b'{"unheard": 1}'):
    updates.write(junk + b'\\n')
told = dict(stage='timing', side='kernel', code='raised', message='m')
send(fault=told)
"""


def test_what_user_code_writes_among_the_answers_is_left_out(run: Run, seen: list[Update]) -> None:
    outcome, _ = run(GARBAGE + "done()")
    assert (outcome.lost, outcome.corruption) == (False, None)
    assert [f.code for f in outcome.all_faults] == ["raised", "answers_forged"]
    assert [update.entered for update in seen] == ["timing", None, None]


def test_an_answer_in_the_worker_s_name_is_told_from_its_own(run: Run) -> None:
    outcome, _ = run("enter('timing'); done()")
    assert outcome.forgery is None
    forged = """
enter('timing')
with open(os.path.join(folder, "updates.jsonl"), "a") as stream:
    stream.write('\\n{"timing": {"series": []}}\\n')
done()
"""
    outcome, _ = run(forged)
    assert outcome.forgery is not None
    assert (outcome.forgery.stage, outcome.forgery.side, outcome.forgery.code) == ("integrity", None, "answers_forged")
    assert "3 answers came" in outcome.forgery.message
    assert "2 sent" in outcome.forgery.message
    uncounted = (
        "enter('timing'); open(os.path.join(folder, 'updates.jsonl'), 'a').write('{\"finished\": \"worker\"}\\n')"
    )
    outcome, _ = run(uncounted)
    assert outcome.forgery is not None
    assert "not counted" in outcome.forgery.message


def test_a_lost_worker_among_whose_answers_others_were_found_says_so_last(run: Run) -> None:
    outcome, _ = run(GARBAGE + "enter('memory'); os._exit(1)")
    assert [f.code for f in outcome.all_faults] == ["raised", "exited", "updates_corrupted"]
    assert outcome.lost_by == outcome.fault
    assert outcome.corruption is not None
    assert (outcome.corruption.side, outcome.corruption.stage) == (None, "memory")
    assert outcome.corruption.message.startswith("5 lines ")


def test_the_deadline_holds_while_answers_keep_arriving(run: Run) -> None:
    flood = """
enter('timing')
updates = open(os.path.join(folder, "updates.jsonl"), "ab", buffering=0)
for _ in range(10_000):
    updates.write(b'{}\\n' * 10_000)
    time.sleep(0.01)
"""
    outcome, took = run(flood, stage_s=1.0)
    assert fault(outcome).code == "timeout"
    assert took < 5


def test_what_a_worker_leaves_in_sessions_of_its_own_is_ended_with_it(run: Run, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    body = f"""
import ctypes
ctypes.CDLL(None).prctl(36, 1)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
enter('timing')
# A daemon as they are made: its parent is gone, its session is new.
script = "import os, subprocess; p = subprocess.Popen(['sleep', '600']); open({str(pid_file)!r}, 'w').write(str(p.pid))"
subprocess.run([sys.executable, '-c', script], start_new_session=True)
time.sleep(600)
"""
    outcome, _ = run(body, stage_s=1.5)
    assert fault(outcome).code == "timeout"
    assert _gone([int(pid_file.read_text())])


def _gone(pids: list[int], within_s: float = 2.0) -> bool:
    deadline = time.monotonic() + within_s
    while any(_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(_alive(pid) for pid in pids)


def test_end_group_never_signals_our_own_group() -> None:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    processes.end_group(process)
    assert process.returncode == -signal.SIGTERM
    assert os.getpgrp() != process.pid
