"""Runs that are interrupted at every stage leave no process, no lock, no half of anything, and the next one works."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from running import REPO

REF = """
import torch
class Model(torch.nn.Module):
    def forward(self, x): return torch.relu(x) + 1
def get_inputs(): return [torch.randn(64, 32)]
def get_init_inputs(): return []
"""
# Compiles what needs no header of torch's, starts a process that leaves its session, and takes its time in each call.
KERNEL = """
import os, pathlib, subprocess, time, torch
from torch.utils.cpp_extension import load
here = pathlib.Path(__file__).parent
subprocess.Popen(["sleep", "600"], start_new_session=True)
load(name="quick", sources=[str(here / "quick.cpp")], is_python_module=False)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        time.sleep(0.003)
        return x.clamp(min=0) + 1
"""
# Writes half of what it was asked for, says so, and stays: where the file `stay` names what it is doing.
COMPILER = """#!/bin/sh
case " $* " in *" -shared "*) doing=link ;; *" -c "*) doing=compile ;; *) exec c++ "$@" ;; esac
if [ "$(cat {folder}/stay 2>/dev/null)" = $doing ]; then
    while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
    head -c 1000 /dev/urandom > "$out"
    touch {folder}/staying
    sleep 600
fi
exec c++ "$@"
"""
# Stays between the write and the rename of the report.
STAYS_IN_WRITING = """
import os, time
def fsync(handle, real=os.fsync):
    real(handle)
    if os.path.dirname(os.readlink(f"/proc/self/fd/{handle}")) == os.environ["STAY_IN"]:
        open(os.path.join(os.environ["STAY_IN"], "staying"), "w").close()
        time.sleep(600)
if "STAY_IN" in os.environ: os.fsync = fsync
"""
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="processes are found through /proc (Linux)")


class Bench:
    """One folder with files, cache, temporary folder, and a mark by which all processes of its runs are known."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mark = folder, f"BENCH={uuid.uuid4().hex}"
        self.temporary, self.report = folder / "temporary", folder / "out" / "report.json"
        self.old: set[Path] = set()
        for name in ("temporary", "out", "hooks"):
            (folder / name).mkdir()
        files = {"ref.py": REF, "kernel.py": KERNEL, "quick.cpp": 'extern "C" int quick() { return 1; }\n'}
        for name, content in {**files, "hooks/sitecustomize.py": STAYS_IN_WRITING}.items():
            (folder / name).write_text(content)
        compiler = folder / "compiler"
        compiler.write_text(COMPILER.replace("{folder}", str(folder)))
        compiler.chmod(0o755)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        self.old = set(self.temporary.iterdir())
        name, _, value = self.mark.partition("=")
        path = os.pathsep.join((str(REPO), str(self.folder / "hooks")))
        own = {name: value, "PYTHONPATH": path, "TMPDIR": str(self.temporary), "CXX": str(self.folder / "compiler")}
        return subprocess.Popen(
            [sys.executable, "-m", "kprof", "analyze", "kernel.py", "--ref", "ref.py", "-q", "--device", "cpu",
             "--blocks", "build,precision,timing", "-o", str(self.report), *arguments],
            cwd=self.folder,
            env={**os.environ, "KPROF_CACHE_DIR": str(self.folder / "cache"), **own, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )  # fmt: skip

    def entered(self, stage: str) -> bool:
        """A worker says that it is in the stage: one of this run, not of one that was killed before."""
        asked = f'"entered":"{stage}"'.encode()
        running = [file for file in self.temporary.glob("kprof-*/updates.jsonl") if file.parent not in self.old]
        return any(asked in file.read_bytes() for file in running)

    def processes(self) -> list[str]:
        """Command lines of all processes of this bench's runs, however they were started."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        return found


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("interrupted"))


def wait_until(what: str, holds: Callable[[], bool], within_s: float, run: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert run.poll() is None or what == "all gone", f"ended before {what}"
        assert time.monotonic() < deadline, f"{what} not within {within_s} s"
        time.sleep(0.02)


def kill(
    bench: Bench, reached: Callable[[], bool], number: signal.Signals, *arguments: str, **environment: str
) -> None:
    """Start a run, send the signal once it has come so far, and look at what is left."""
    with bench.start(*arguments, **environment) as run:
        try:
            wait_until("the stage", reached, 60, run)
            run.send_signal(number)
            _, told = run.communicate(timeout=20)
        finally:
            run.kill()
    wait_until("all gone", lambda: not bench.processes(), 5, run)
    assert b"Traceback" not in told
    if number == signal.SIGKILL:
        assert run.returncode == -number
    else:
        assert run.returncode == 128 + number
        assert not list(bench.temporary.iterdir()), "only a kill leaves temporary files, for the next run to remove"


@needs_proc
@pytest.mark.parametrize(
    ("stage", "number"),
    [
        # Until a run gets beyond them, what it finds half made is the last one's.
        ("compile", signal.SIGKILL),
        ("link", signal.SIGKILL),
        ("link", signal.SIGINT),
        ("precision", signal.SIGKILL),
        ("timing", signal.SIGKILL),
        ("timing", signal.SIGTERM),
        ("writing", signal.SIGKILL),
        ("writing", signal.SIGINT),
    ],
)
def test_nothing_is_left_whatever_the_stage(bench: Bench, stage: str, number: signal.Signals) -> None:
    staying = bench.folder / "staying"
    staying.unlink(missing_ok=True)
    old = bench.report.read_bytes() if bench.report.exists() else None
    if stage in ("compile", "link"):
        (bench.folder / "stay").write_text(stage)
        kill(bench, staying.exists, number)
        (bench.folder / "stay").unlink()
    elif stage == "writing":
        stay_in = str(bench.report.parent)
        kill(bench, (bench.report.parent / "staying").exists, number, "--blocks", "build", STAY_IN=stay_in)
        (bench.report.parent / "staying").unlink()
    else:
        kill(bench, lambda: bench.entered(stage), number)
    assert (bench.report.read_bytes() if bench.report.exists() else None) == old
    assert [path.name for path in bench.report.parent.iterdir()] == ([bench.report.name] if old else [])


@needs_proc
def test_the_next_run_works_and_removes_what_a_kill_left(bench: Bench) -> None:
    left = list(bench.temporary.iterdir())
    run = bench.start()
    _, told = run.communicate(timeout=120)
    assert (run.returncode, told) == (0, b"")
    report = json.loads(bench.report.read_bytes())
    assert report["blocks"]["precision"]["passed"] is True
    assert report["blocks"]["timing"]["status"] in ("ok", "suspect")
    assert report["faults"] == []
    assert not [path for path in left if path.exists()]
    assert not list(bench.temporary.iterdir())
    assert not bench.processes()
