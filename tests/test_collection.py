"""Which workers a run starts, and which it leaves out. The workers are real processes that follow the protocol."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kprof import collection
from kprof.capture import Capture
from kprof.collection import Plan, collect
from kprof.worker.supervisor import Limits, Worker

# What each worker does, by the stages it is asked for, comes as the body; `started` keeps what was asked.
SCRIPT = """
import json, os, sys, time
folder = sys.argv[-1]
stages = json.load(open(os.path.join(folder, "request.json")))["stages"]
with open(os.path.join(os.path.dirname(__file__), "started"), "a") as stream:
    stream.write(",".join(stages) + "\\n")
def send(**update):
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
