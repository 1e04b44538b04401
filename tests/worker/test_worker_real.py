"""The real worker, torch and all, with files that take the process they run in for their own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kprof.capture import Capture
from kprof.collection import Plan, collect
from kprof.subprocesses.processes import process_stat
from kprof.worker.supervisor import Limits

REF = """
import torch
class Model(torch.nn.Module):
    def forward(self, x): return torch.relu(x) + 1
def get_inputs(): return [torch.randn(64, 32)]
def get_init_inputs(): return []
"""
GOOD = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x): return x.clamp(min=0) + 1
"""


@pytest.fixture
def collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Capture]:
    def call(kernel: str, *blocks: str) -> Capture:
        (tmp_path / "ref.py").write_text(REF)
        (tmp_path / "kernel.py").write_text(kernel)
        monkeypatch.setenv("KPROF_CACHE_DIR", str(tmp_path / "cache"))
        plan = Plan(
            kernel_file=tmp_path / "kernel.py",
            ref_file=tmp_path / "ref.py",
            blocks=blocks,
            device="cpu",
            limits=Limits(stage_s=60),
        )
        return collect(plan, lambda update: None)

    return call


TAKES_ALL = """
import os, subprocess, sys, time
time.perf_counter_ns = lambda: 0
time.perf_counter = lambda: 0.0
for descriptor in range(3, 64):
    try:
        os.write(descriptor, b"hello\\n")
    except OSError:
        pass
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
if "kernel" in __name__:
    open(os.path.join(os.path.dirname(__file__), "pids"), "a").write(f"{child.pid} ")
"""


@pytest.mark.parametrize("stdout", ["sys.stdout = None", "sys.stdout.close()"])
def test_a_kernel_that_takes_the_process_for_its_own_is_measured_all_the_same(
    collected: Callable[..., Capture], tmp_path: Path, stdout: str
) -> None:
    capture = collected(TAKES_ALL + stdout + GOOD, "precision", "timing")
    assert [fault.code for fault in capture.faults] == ["answers_forged"]
    assert capture.precision is not None
    assert [trial.mismatches for trial in capture.precision.trials] == [()] * 5
    assert capture.timing is not None
    assert all(us > 0 for us in capture.timing.series[0].kernel_us)
    if sys.platform == "linux":
        (pid,) = (tmp_path / "pids").read_text().split()
        stat = process_stat(int(pid))
        assert stat is None or stat.ended


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "GeneratorExit", "Odd"])
def test_whatever_a_kernel_raises_is_its_own_and_the_next_stage_goes_on(
    collected: Callable[..., Capture], raised: str
) -> None:
    kernel = f"""
class Odd(BaseException):
    def __str__(self): raise ValueError("no text")
class ModelNew:
    def __call__(self, x): raise {raised}
"""
    capture = collected(kernel, "precision", "memory")
    assert [(f.stage, f.side, f.code) for f in capture.faults] == [
        ("precision", "kernel", "raised"),
        ("memory", "kernel", "raised"),
    ]
    assert all(f"raised {raised}: " in fault.message for fault in capture.faults)
    assert "def __call__(self, x): raise" in capture.faults[0].detail


def test_a_current_folder_that_was_deleted_is_no_hindrance(
    collected: Callable[..., Capture], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    capture = collected(GOOD, "memory")
    assert capture.faults == ()
    assert capture.memory is not None
