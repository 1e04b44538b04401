"""When a run collects hardware counters and the floor, and what becomes of what they bring."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kprof import collection
from kprof.capture import Capture
from kprof.collection import Plan, collect
from kprof.counter_collection.options import CounterOptions
from kprof.counter_collection.runs import Collected
from kprof.counter_evidence import CountersEvidence
from kprof.evidence import Fault
from kprof.launches_evidence import LaunchesEvidence
from kprof.worker.supervisor import Limits, Worker

# A worker that follows the protocol without torch: it answers with a device, then does BODY in each stage.
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
send(environment=dict(device="DEVICE"))
LOADED
for stage in stages:
    send(entered=stage)
    if stage == "launches": send(launches={})
    BODY
    send(finished=stage)
send(finished="worker")
"""
EVIDENCE = CountersEvidence(format="ncu_report")
FAULT = Fault(stage="counters", side=None, code="ncu_partial", message="m")


class Runs:
    """What was asked of ncu in a run."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def counters(self, request: Any, options: CounterOptions, *_: Any, **more: Any) -> Collected:
        self.asked.append({"stages": request.stages, "options": options, **more})
        return Collected(EVIDENCE, (FAULT,), "2025.3.1.0")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    runs = Runs()
    monkeypatch.setattr(collection, "collect_counters", runs.counters)
    return runs


Measure = Callable[..., tuple[Capture, list[str]]]


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measure:
    def call(
        *blocks: str, device: str = "cuda:0", body: str = "pass", loaded: str = "", ref: bool = True, **more: Any
    ) -> tuple[Capture, list[str]]:
        script = tmp_path / "worker.py"
        script.write_text(SCRIPT.replace("DEVICE", device).replace("BODY", body).replace("LOADED", loaded))
        file = tmp_path / "kernel.py"
        file.touch()
        program = (sys.executable, str(script))
        monkeypatch.setattr(collection, "Worker", functools.partial(Worker, program=program))
        plan = Plan(kernel_file=file, ref_file=file if ref else None, blocks=blocks, limits=Limits(stage_s=1.0), **more)
        return collect(plan, lambda update: None), (tmp_path / "started").read_text().splitlines()

    return call


@pytest.mark.parametrize("block", ["sol", "roofline", "occupancy", "caches", "stalls", "bottleneck"])
def test_a_block_of_counters_has_ncu_run_on_a_gpu(measure: Measure, runs: Runs, block: str) -> None:
    capture, _ = measure("launches", block, counter_options=CounterOptions(ncu="/opt/ncu", max_launches=3))
    (asked,) = runs.asked
    assert asked["options"] == CounterOptions(ncu="/opt/ncu", max_launches=3)
    assert asked["environment"].device == "cuda:0"
    assert asked["launches"] == LaunchesEvidence()
    assert (capture.counters, capture.faults) == (EVIDENCE, (FAULT,))
    assert capture.environment.ncu == "2025.3.1.0"


def test_nobody_else_has(measure: Measure, runs: Runs) -> None:
    measure("timing", "memory", "launches", "waterfall")
    measure("sol", "bottleneck", device="cpu")
    assert runs.asked == []


def test_what_does_not_load_is_not_profiled(measure: Measure, runs: Runs) -> None:
    fault = "send(fault=dict(stage='load', side='kernel', code='import_failed', message='m')); os._exit(3)"
    capture, _ = measure("sol", loaded=fault)
    assert runs.asked == []
    assert [one.stage for one in capture.faults] == ["load"]


def test_after_a_hang_it_is_not_tried_and_that_is_said(measure: Measure, runs: Runs) -> None:
    capture, _ = measure("timing", "sol", body="if stage == 'timing': time.sleep(60)")
    assert runs.asked == []
    assert [(one.stage, one.code) for one in capture.faults] == [
        ("timing", "timeout"), ("floor", "not_attempted"), ("counters", "not_attempted"),
    ]  # fmt: skip


@pytest.mark.parametrize("block", ["sol", "waterfall"])
@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_the_floor_is_counted_last_in_the_main_worker(measure: Measure, runs: Runs, block: str, device: str) -> None:
    _, started = measure("memory", block, device=device)
    assert started[0] == "memory,floor"


def test_without_a_reference_the_floor_is_that_of_the_kernels_inputs(measure: Measure, runs: Runs) -> None:
    _, started = measure("precision", "memory", "sol", ref=False)
    assert started[0] == "memory,floor"
