"""Which workers a run starts, and which it leaves out. The workers are real processes that follow the protocol."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kprof import collection
from kprof.capture import Capture
from kprof.collection import Plan, collect
from kprof.errors import CannotMeasureError
from kprof.turns import turn_on
from kprof.worker.supervisor import Limits, Worker

# What each worker does, by the stages it is asked for, comes as the body; `started` keeps what was asked.
SCRIPT = """
import json, os, sys, time
folder = sys.argv[-1]
stages = json.load(open(os.path.join(folder, "request.json")))["stages"]
with open(os.path.join(os.path.dirname(__file__), "started"), "a") as stream:
    stream.write(",".join(stages) + "\\n")
count = 0
def send(**update):
    global count
    count += 1
    if update.get("finished") == "worker": update["sent"] = count
    with open(os.path.join(folder, "updates.jsonl"), "a") as stream:
        stream.write(json.dumps(update) + "\\n")
send(entered="load")
for stage in stages:
    send(entered=stage)
    BODY
    send(finished=stage)
send(finished="worker")
"""
Collected = tuple[Capture, list[str]]


@pytest.fixture
def collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Collected]:
    def call(body: str, blocks: tuple[str, ...] = ("precision", "timing", "memory", "launches")) -> Collected:
        script = tmp_path / "worker.py"
        script.write_text(SCRIPT.replace("BODY", body))
        (tmp_path / "kernel.py").touch()
        monkeypatch.setattr(
            collection, "Worker", functools.partial(Worker, program=(sys.executable, str(script))), raising=True
        )
        file = tmp_path / "kernel.py"
        limits = Limits(stage_s=1.0)
        plan = Plan(kernel_file=file, ref_file=file, blocks=blocks, device="cpu", repeats=2, limits=limits)
        capture = collect(plan, lambda update: None)
        return capture, (tmp_path / "started").read_text().splitlines()

    return call


def stages_and_codes(capture: Capture) -> list[tuple[str, str]]:
    return [(fault.stage, fault.code) for fault in capture.faults]


def test_a_run_without_faults_starts_each_worker_once(collected: Callable[..., Collected]) -> None:
    capture, started = collected("pass")
    assert capture.faults == ()
    assert started == ["precision,timing,memory", "launches", "timing"]


def test_after_a_hang_no_further_worker_is_tried(collected: Callable[..., Collected]) -> None:
    capture, started = collected("if stage == 'timing': time.sleep(60)")
    assert started == ["precision,timing,memory"]
    assert stages_and_codes(capture) == [
        ("timing", "timeout"),
        ("memory", "not_attempted"),
        ("launches", "not_attempted"),
    ]


def test_a_hang_in_the_last_stage_counts_too(collected: Callable[..., Collected]) -> None:
    capture, started = collected("if stage == 'memory': time.sleep(60)")
    assert started == ["precision,timing,memory"]
    assert stages_and_codes(capture) == [("memory", "timeout"), ("launches", "not_attempted")]


def test_what_nobody_asked_for_is_not_among_the_faults(collected: Callable[..., Collected]) -> None:
    capture, _ = collected("time.sleep(60)", blocks=("precision", "timing"))
    assert stages_and_codes(capture) == [("precision", "timeout"), ("timing", "not_attempted")]


def test_a_lost_worker_is_replaced_for_what_comes_after(collected: Callable[..., Collected]) -> None:
    capture, started = collected("if stage == 'precision': os._exit(7)")
    assert started == ["precision,timing,memory", "timing,memory", "launches", "timing"]
    assert stages_and_codes(capture) == [("precision", "exited")]


def test_two_lost_workers_are_enough(collected: Callable[..., Collected]) -> None:
    capture, started = collected("if stage != 'memory': os._exit(7)")
    assert started == ["precision,timing,memory", "timing,memory"]
    assert stages_and_codes(capture) == [
        ("precision", "exited"),
        ("timing", "exited"),
        ("memory", "not_attempted"),
        ("launches", "not_attempted"),
    ]


def test_a_hang_under_the_profiler_costs_its_own_block_alone(collected: Callable[..., Collected]) -> None:
    capture, started = collected("if len(stages) == 1 and stage == 'launches': time.sleep(60)")
    assert started == ["precision,timing,memory", "launches", "timing"]
    assert stages_and_codes(capture) == [("launches", "timeout")]


WAITS = """
if json.load(open(os.path.join(folder, "request.json")))["takes_turn"]:
    send(waits_for="BOARD")
    while not os.path.exists(os.path.join(folder, "turn")): time.sleep(0.01)
    open(os.path.join(os.path.dirname(__file__), "turns"), "a").write("one ")
send(environment=dict(device="cuda:0"))
"""


@pytest.fixture
def on_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Collected]:
    """A run on a GPU that other runs may hold, whose worker is lost once."""
    board = f"GPU-{tmp_path.name}"
    monkeypatch.setattr(collection, "turn_on", functools.partial(turn_on, folder=tmp_path))

    def call(timeout_s: float, on_wait: Callable[[str], None]) -> Collected:
        script = tmp_path / "worker.py"
        loads = SCRIPT.replace('send(entered="load")', 'send(entered="load")\n' + WAITS.replace("BOARD", board))
        script.write_text(loads.replace("BODY", "if stage == 'precision': os._exit(1)"))
        file = tmp_path / "kernel.py"
        file.touch()
        program = (sys.executable, str(script))
        monkeypatch.setattr(collection, "Worker", functools.partial(Worker, program=program))
        plan = Plan(
            kernel_file=file,
            ref_file=file,
            blocks=("precision", "memory"),
            limits=Limits(stage_s=1.0),
            lock_timeout_s=timeout_s,
        )
        capture = collect(plan, lambda update: None, on_wait)
        return capture, (tmp_path / "started").read_text().splitlines()

    return call


def hold(folder: Path, seconds: float) -> subprocess.Popen[str]:
    """Another run on the same GPU, as a process of its own."""
    script = (
        "import sys, time; from pathlib import Path; from kprof.turns import turn_on\n"
        f"with turn_on('GPU-{folder.name}', 9, print, Path({str(folder)!r})):\n"
        f"    print('held', flush=True); time.sleep({seconds})"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    other = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment)
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    return other


def test_a_run_waits_for_another_on_the_same_gpu_and_no_stage_pays_for_it(
    on_gpu: Callable[..., Collected], tmp_path: Path
) -> None:
    waited: list[str] = []
    with hold(tmp_path, 1.8):
        capture, started = on_gpu(30.0, waited.append)
    assert waited == [f"GPU-{tmp_path.name}"]
    assert stages_and_codes(capture) == [("precision", "exited")]
    assert started == ["precision,memory", "memory"]
    assert (tmp_path / "turns").read_text() == "one ", "the run holds the device: a replacement does not wait again"
    on_gpu(0.0, waited.append)
    assert len(waited) == 1, "let go in the end"


def test_a_device_that_stays_taken_is_an_error_with_what_to_do(
    on_gpu: Callable[..., Collected], tmp_path: Path
) -> None:
    waited: list[str] = []
    with hold(tmp_path, 60) as other:
        with pytest.raises(CannotMeasureError, match="another kprof has been measuring on GPU-") as caught:
            on_gpu(0.3, waited.append)
        other.kill()
    assert (caught.value.code, caught.value.exit_code, len(waited)) == ("device_busy", 3, 1)
    assert "--lock-timeout" in caught.value.hint
    assert not (tmp_path / "turns").exists()
