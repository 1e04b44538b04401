"""compute-sanitizer round the worker, with stand-ins for both: what is run, and what each failure is called."""

from __future__ import annotations

import functools
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from running import run_kprof

from kprof import sanitizer_collection
from kprof.collectors.sanitizer import tool as tool_module
from kprof.commands.analyze_arguments import sanitizer_tools
from kprof.errors import UsageError
from kprof.evidence import Environment, Workload
from kprof.sanitizer_collection import collect_sanitizer
from kprof.sanitizer_evidence import SanitizerRun, SanitizerTool
from kprof.worker.protocol import Request
from kprof.worker.supervisor import Limits, Worker

# Answers for its version; else runs the worker and writes the log that lies ready for the tool.
FAKE = """#!/bin/sh
if [ "$1" = --version ]; then printf 'NVIDIA (R) Compute Sanitizer\\nVersion 2025.3.1.0 (build 1)\\n'; exit 0; fi
echo "$@" >> {folder}/asked
tool=$2
while [ "$1" != {python} ]; do [ "$1" = --log-file ] && log=$2; shift; done
{body}
"""
WORKS = '"$@"; status=$?; [ -e {folder}/$tool.log ] && cp {folder}/$tool.log "$log"; exit $status'
WORKER = """
import json, os, sys, time
folder = sys.argv[-1]
stages = json.load(open(os.path.join(folder, "request.json")))["stages"]
with open({started!r}, "a") as stream:
    keys = ("NVCC_APPEND_FLAGS", "PYTORCH_NO_CUDA_MEMORY_CACHING", "KPROF_UNDER_SANITIZER")
    stream.write(json.dumps([stages, *map(os.environ.get, keys)]) + "\\n")
def send(**update):
    with open(os.path.join(folder, "updates.jsonl"), "a") as stream:
        stream.write(json.dumps(update) + "\\n")
send(entered="load")
for stage in stages:
    send(entered=stage)
    {body}
send(finished="worker")
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
FOUND = (
    "========= COMPUTE-SANITIZER\n========= Invalid __global__ write of size 4 bytes\n"
    "=========     at scale(float *)+0x70 in k.cu:16\n=========     by thread (1,0,0) in block (3,0,0)\n"
    "=========     Access to 0x7f10 is out of bounds\n=========\n========= ERROR SUMMARY: 1 error\n"
)
GPU = Environment(device="cuda:0", gpu_uuid="GPU-1")
RAISES = "send(fault=dict(stage='sanitizer', side='kernel', code='raised', message='m'))"


class Bench:
    """One folder with a fake compute-sanitizer, a stand-in worker and logs that lie ready."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch
        monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
        for name in ("CUDA_HOME", "CUDA_PATH", "NVCC_APPEND_FLAGS"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(tool_module, "_USUAL_PLACES", ())
        self.fake()
        self.worker("pass")

    def fake(self, body: str = WORKS, folder: str = "bin") -> Path:
        path = self.folder / folder / "compute-sanitizer"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = FAKE.replace("{body}", body).replace("{folder}", str(self.folder))
        path.write_text(text.replace("{python}", shlex.quote(sys.executable)))
        path.chmod(0o755)
        return path

    def worker(self, body: str) -> None:
        script = self.folder / "worker.py"
        script.write_text(WORKER.format(started=str(self.folder / "started"), body=body))
        worker = functools.partial(Worker, program=(sys.executable, str(script)))
        self.monkeypatch.setattr(sanitizer_collection, "Worker", worker)

    def run(
        self, *tools: SanitizerTool, environment: Environment = GPU, builds: bool = False, limit_s: float = 20.0
    ) -> tuple[SanitizerRun, ...]:
        workload = Workload(
            kernel_file="k.py", kernel_sha256="0", ref_file=None, ref_sha256=None, entry="ModelNew", seed=0
        )
        request = Request(
            workload=workload, device="cuda:0", trials=1, stages=(), cache_dir=str(self.folder / "cache"), held=True
        )
        limits = Limits(stage_s=limit_s)
        found = collect_sanitizer(request, tools, limits, lambda update: None, environment=environment, builds=builds)
        return found.runs

    def code(self, **more: Any) -> str | None:
        (run,) = self.run("memcheck", **more)
        return run.absent.code if run.absent is not None else None

    def lines(self, name: str) -> list[str]:
        return (self.folder / name).read_text().splitlines()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def test_each_tool_watches_one_call(bench: Bench) -> None:
    (bench.folder / "memcheck.log").write_text(FOUND)
    (bench.folder / "initcheck.log").write_text(CLEAN)
    first, second = bench.run("memcheck", "initcheck")
    assert (first.absent, first.errors, [found.line for found in first.findings]) == (None, 1, [16])
    assert (second.absent, second.errors, second.findings, second.left_out) == (None, 0, (), 0)
    assert first.command[:3] == (str(bench.folder / "bin" / "compute-sanitizer"), "--tool", "memcheck")
    assert ["--report-api-errors no" in line for line in bench.lines("asked")] == [True, False]
    assert bench.lines("started") == [
        f'[["sanitizer"], "-lineinfo", "1", "{tool}"]' for tool in ("memcheck", "initcheck")
    ]
    assert 0 < first.seconds < 20


def test_what_compiles_is_built_with_lines_before_the_tool_starts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-Xptxas -v")
    (bench.folder / "racecheck.log").write_text(CLEAN)
    bench.run("racecheck", builds=True)
    assert bench.lines("started") == [
        '[[], "-Xptxas -v -lineinfo", null, null]',
        '[["sanitizer"], "-Xptxas -v -lineinfo", "1", "racecheck"]',
    ]
    assert len(bench.lines("asked")) == 1


def test_it_is_found_in_the_toolkit_too(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.folder / "bin" / "compute-sanitizer").unlink()
    assert bench.code() == "sanitizer_not_found"
    made = bench.fake(folder="cuda/compute-sanitizer")
    monkeypatch.setenv("CUDA_HOME", str(bench.folder / "cuda"))
    (bench.folder / "memcheck.log").write_text(CLEAN)
    (run,) = bench.run("memcheck")
    assert (run.absent, run.command[0]) == (None, str(made))


def test_on_the_cpu_nothing_is_started(bench: Bench) -> None:
    assert bench.code(environment=Environment(device="cpu")) == "no_cuda_device"
    assert not (bench.folder / "asked").exists()


@pytest.mark.parametrize(
    ("log", "body", "code"),
    [
        ("========= Error: Device not supported. Please refer to the manual\n", "os._exit(1)", "sanitizer_unsupported"),
        (
            "========= Error: Target application terminated before first instrumented API call\n",
            "pass",
            "sanitizer_nothing_ran",
        ),
        (CLEAN, RAISES, "raised"),
        (CLEAN, RAISES + "; os._exit(3)", "raised"),
        (CLEAN, "os._exit(0)", "exited"),
        ("", "pass", "sanitizer_failed"),
        ("========= Internal Sanitizer Error: x\n", "pass", "sanitizer_failed"),
        # What it found ended the call, and the process with it.
        (FOUND, RAISES + "; os._exit(3)", None),
        (FOUND.replace("========= ERROR SUMMARY: 1 error\n", ""), "os.kill(os.getpid(), 9)", None),
    ],
)
def test_each_way_to_fail_has_its_code(bench: Bench, log: str, body: str, code: str | None) -> None:
    (bench.folder / "memcheck.log").write_text(log)
    bench.worker(body)
    assert bench.code() == code


def test_a_kernel_that_needs_torchs_own_allocations_gets_them(bench: Bench) -> None:
    (bench.folder / "memcheck.log").write_text(CLEAN)
    bench.worker(f"if os.environ.get('PYTORCH_NO_CUDA_MEMORY_CACHING'): {RAISES}")
    assert bench.code() is None
    assert len(bench.lines("started")) == 2


def test_a_hang_is_ended_in_time_and_keeps_what_was_found(bench: Bench) -> None:
    bench.fake("cp {folder}/memcheck.log $log; sleep 600")
    (bench.folder / "memcheck.log").write_text(FOUND)
    (run,) = bench.run("memcheck", limit_s=1.0)
    assert run.absent is not None
    assert (run.absent.code, len(run.findings)) == ("sanitizer_timeout", 1)
    assert "--timeout" in run.absent.hint


def test_a_tool_that_cannot_be_started_says_so(bench: Bench) -> None:
    bench.fake("echo cannot >&2; exit 9")
    assert bench.code() in ("sanitizer_failed", "exited")


def test_many_findings_are_bounded_and_counted(bench: Bench) -> None:
    record = FOUND.partition("\n")[2].rpartition("========= ERROR")[0]
    records = "".join(record.replace(":16", f":{number}") for number in range(80))
    (bench.folder / "memcheck.log").write_text(records + "========= ERROR SUMMARY: 80 errors\n")
    (run,) = bench.run("memcheck")
    assert (len(run.findings), run.left_out, run.errors) == (50, 30, 80)


def test_the_real_worker_calls_the_kernel_once_and_the_reference_never(bench: Bench) -> None:
    (bench.folder / "ref.py").write_text(
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        raise ValueError('called')\n"
        "def get_inputs():\n    return [torch.zeros(2)]\ndef get_init_inputs():\n    return []\n"
    )
    (bench.folder / "kernel.py").write_text(
        "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
        f"        open({str(bench.folder / 'calls')!r}, 'a').write('one ')\n        return x\n"
    )
    files = {"kernel_file": str(bench.folder / "kernel.py"), "ref_file": str(bench.folder / "ref.py")}
    workload = Workload(**files, kernel_sha256="0", ref_sha256="0", entry="ModelNew", seed=0)  # type: ignore[arg-type]
    request = Request(
        workload=workload, device="cpu", trials=1, stages=("sanitizer",), cache_dir=str(bench.folder / "cache")
    )
    with Worker(request) as worker:
        outcome = worker.follow(Limits(), lambda update: None)
    assert (outcome.lost, outcome.faults) == (False, [])
    assert (bench.folder / "calls").read_text() == "one "


def test_the_command_says_that_a_cpu_has_nothing_to_check(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(
        "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
        "def get_inputs():\n    return [torch.zeros(2)]\n"
    )
    arguments = ("kernel.py", "--device", "cpu", "--blocks", "build", "-q", "--sanitize", "initcheck,memcheck")
    run = run_kprof("analyze", *arguments, cwd=tmp_path, cache=tmp_path / "cache")
    assert run.code == 0, run.stderr
    block = run.block("integrity")
    passed = {check["name"]: (check["passed"], check["reason"]) for check in block["checks"]}
    assert passed["memcheck"] == passed["initcheck"] == (None, "no_cuda_device")
    assert block["passed"] is None


@pytest.mark.parametrize(("value", "says"), [("memchek", "no tool memchek"), (" , ", "no tool named")])
def test_a_tool_that_does_not_exist_is_refused(value: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        sanitizer_tools(value)
    assert sanitizer_tools(None) == ()
    assert sanitizer_tools("initcheck, memcheck,initcheck") == ("memcheck", "initcheck")
