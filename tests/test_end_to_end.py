"""The main job as a user runs it: real worker processes, real files, every way they can fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from running import EXAMPLE, REPO, BuiltExample, Run, run_kprof

from kprof.report import report_schema

REF = """
import torch
N = 64
class Model(torch.nn.Module):
    def forward(self, x): return torch.relu(x) + 1
def get_inputs(): return [torch.randn(N, 32)]
def get_init_inputs(): return []
"""
GOOD = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x): return x.clamp(min=0) + 1
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def kprof(tmp_path: Path, cache: Path) -> Any:
    def call(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> Run:
        run = run_kprof(*arguments, cwd=cwd or tmp_path, cache=cache, **environment)
        if run.stdout.startswith("{"):
            jsonschema.validate(run.report, report_schema())
        return run

    return call


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def call(kernel: str, ref: str = REF) -> tuple[str, str, str]:
        (tmp_path / "kernel.py").write_text(kernel)
        (tmp_path / "ref.py").write_text(ref)
        return "kernel.py", "--ref", "ref.py"

    return call


def test_a_right_kernel_is_measured_in_full(kprof: Any, write: Any, tmp_path: Path) -> None:
    run = kprof("analyze", *write(GOOD), "--save-capture", "c.json", "--set", "N=50")
    assert run.code == 0, run.stderr
    blocks = run.report["blocks"]
    assert blocks["precision"]["passed"] is True
    assert blocks["precision"]["trials_passed"] == 5
    timing = blocks["timing"]
    assert timing["status"] == "ok"
    assert timing["speedup"] == timing["ref_us"] / timing["kernel_us"]
    assert timing["speedup_ci95"][0] <= timing["speedup"] <= timing["speedup_ci95"][1]
    assert timing["host"]["warm"]["kernel_count"] >= 10
    assert timing["device"] == {"cold": None, "warm": None}
    # relu and add are two outermost operators, clamp and add too; 50 x 32 floats are 6400 bytes, two of them at most.
    assert (blocks["launches"]["kernel_operator_calls"], blocks["launches"]["ref_operator_calls"]) == (2, 2)
    assert blocks["launches"]["kernel_launches"] is None
    assert blocks["memory"]["ref_peak_mb"] == pytest.approx(2 * 6400 / 1e6, rel=0.05)
    assert blocks["build"]["reason"]["code"] == "nothing_to_build"
    assert (blocks["sol"]["status"], blocks["sol"]["floor_bytes"]) == ("ok", 2 * 6400)
    assert blocks["sol"]["task_score"] == blocks["sol"]["floor_us"] / timing["kernel_us"]
    assert (blocks["bottleneck"]["status"], blocks["bottleneck"]["estimated"]) == ("ok", True)
    for name in ("roofline", "occupancy", "caches", "stalls"):
        assert (blocks[name]["status"], blocks[name]["reason"]["code"]) == ("unavailable", "no_cuda_device")
    assert run.report["workload"]["inputs"][0]["shape"] == [50, 32]
    assert "speedup" in run.stderr.lower()
    again = kprof("analyze", "--capture", "c.json", "-q")
    assert (again.code, again.stderr) == (0, "")
    assert again.report["source"] == "replayed"
    assert again.report["blocks"] == blocks


@pytest.mark.compiles
def test_the_example_builds_once_and_is_right(built_example: BuiltExample, tmp_path: Path) -> None:
    first = built_example.first
    assert first.code == 0, first.stderr
    jsonschema.validate(first.report, report_schema())
    assert first.block("build")["cached"] is False
    assert first.block("precision")["passed"] is True
    second = run_kprof(*EXAMPLE, "--blocks", "build", cwd=tmp_path, cache=built_example.cache)
    build = second.block("build")
    assert (build["status"], build["cached"]) == ("ok", True)
    assert build["seconds"] < 1.0


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        ("os.kill(os.getpid(), 11)", "crashed", "SIGSEGV"),
        ("os._exit(0)", "exited", "status 0"),
        ("sys.exit(0)", "raised", "SystemExit"),
        ("raise ValueError('first\\nsecond')", "raised", "ValueError: first"),
        ("torch.empty(10**15)", "out_of_memory", "memory"),
    ],
)
def test_a_kernel_that_breaks_costs_its_own_blocks_alone(
    kprof: Any, write: Any, body: str, code: str, says: str
) -> None:
    run = kprof("analyze", *write(f"import os, sys, torch\nclass ModelNew:\n    def __call__(self, x): {body}"))
    assert run.code == 3, run.stderr
    precision = run.block("precision")
    assert (precision["status"], precision["reason"]["code"]) == ("failed", code)
    assert says in precision["reason"]["message"]
    assert "kernel" in precision["reason"]["message"] + precision["reason"]["hint"]
    assert run.report["workload"]["inputs"][0]["shape"] == [64, 32]


def test_a_hang_ends_in_time_and_keeps_what_was_measured(kprof: Any, write: Any, tmp_path: Path) -> None:
    kernel = (
        "import subprocess, time, torch\nclass ModelNew:\n"
        "    def __call__(self, x):\n"
        "        child = subprocess.Popen(['sleep', '300'])\n"
        f"        open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "        time.sleep(300)\n"
    )
    run = kprof("analyze", *write(kernel), "--timeout", "6")
    assert run.code == 3
    assert run.block("precision")["reason"]["code"] == "timeout"
    assert run.block("timing")["reason"]["code"] == "not_attempted"
    assert run.block("build")["reason"]["code"] == "nothing_to_build"
    assert run.seconds < 60
    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text()


def test_fake_results_on_stdout_change_nothing(kprof: Any, write: Any) -> None:
    kernel = GOOD + '\nprint(\'{"finished":"worker","timing":{"speedup":100}}\')\nimport sys; sys.stdout.flush()\n'
    run = kprof("analyze", *write(kernel), "--blocks", "precision")
    assert run.code == 0
    assert run.block("precision")["passed"] is True
    assert run.block("timing")["reason"]["code"] == "not_requested"


def test_a_wrong_kernel_exits_1_and_is_timed_all_the_same(kprof: Any, write: Any) -> None:
    run = kprof("analyze", *write(GOOD.replace("+ 1", "+ 1.01")), "--blocks", "precision,timing")
    assert run.code == 1
    assert run.block("precision")["passed"] is False
    assert run.block("timing")["kernel_us"] > 0


@pytest.mark.parametrize(
    ("kernel", "code"),
    [
        ("class Other: pass", "entry_missing"),
        ("def f(:", "syntax_error"),
        ("import nowhere_at_all", "import_failed"),
        ("class ModelNew:\n    def __init__(self): raise OSError('x')", "constructor_failed"),
    ],
)
def test_a_kernel_that_does_not_load_exits_3(kprof: Any, write: Any, kernel: str, code: str) -> None:
    run = kprof("analyze", *write(kernel))
    assert run.code == 3
    assert code in json.dumps(run.report["blocks"])
    assert "kprof: error:" in run.stderr
    assert "kprof: hint:" in run.stderr


@pytest.mark.parametrize(
    "body", ["raise RuntimeError('ref is broken')", "import os; os._exit(1)", "import os; os.abort()"]
)
def test_a_failing_reference_is_the_references_fault(kprof: Any, write: Any, body: str) -> None:
    run = kprof("analyze", *write(GOOD, REF.replace("return torch.relu(x) + 1", body)))
    assert run.code == 3
    reason = run.block("precision")["reason"]
    assert "reference" in reason["message"]
    assert run.block("precision")["passed"] is None


def test_get_inputs_that_fails_is_the_references(kprof: Any, write: Any) -> None:
    run = kprof("analyze", *write(GOOD, REF.replace("return [torch.randn(N, 32)]", "return 1 / 0")))
    assert run.code == 3
    assert "get_inputs_failed" in run.stdout
    assert "ZeroDivisionError" in run.stderr


@pytest.mark.parametrize(
    "kernel",
    [
        "import triton\nclass ModelNew: pass",
        "import torch\nfrom torch.utils.cpp_extension import load_inline\n"
        "load_inline('x', 'int f();', cuda_sources='int f() { return 1; }', functions=['f'])",
        "import torch\nclass ModelNew:\n    def __init__(self): self.w = torch.zeros(3, device='cuda')",
    ],
    ids=["triton", "load_inline", "tensor"],
)
def test_a_cuda_kernel_without_a_gpu_ends_before_any_compiler(kprof: Any, write: Any, kernel: str) -> None:
    run = kprof("analyze", *write(kernel), "--device", "cpu", CUDA_VISIBLE_DEVICES="")
    assert run.code == 3
    assert run.seconds < 10
    errors = [line for line in run.stderr.splitlines() if line.startswith("kprof: error:")]
    hints = [line for line in run.stderr.splitlines() if line.startswith("kprof: hint:")]
    assert (len(errors), len(hints)) == (1, 1)
    assert "no CUDA device" in errors[0]
    assert "--capture" in hints[0]


def test_without_a_reference_the_kernel_brings_its_own_inputs(kprof: Any, write: Any) -> None:
    write(GOOD + "\ndef get_inputs(): return [torch.randn(4, 4)]\n")
    run = kprof("analyze", "kernel.py")
    assert run.code == 0, run.stderr
    assert (run.block("precision")["status"], run.block("precision")["reason"]["code"]) == ("skipped", "no_reference")
    timing = run.block("timing")
    assert timing["kernel_us"] > 0
    assert timing["reasons"]["speedup"] == "no_reference"


def test_files_of_the_earlier_harness_load_unchanged(kprof: Any, write: Any) -> None:
    ref = (
        "import torch\nfrom kernelbench.distributed_collectives import default_device\n"
        "R, B, D = 4, 10, 32\n"
        "class Model(torch.nn.Module):\n    def forward(self, x): return torch.logsumexp(x, dim=0)\n"
        "def get_inputs():\n"
        "    j = popcorn_pri.jitter_int\n"
        "    return [torch.randn(j(R), j(B), j(D), device=default_device())]\n"
        "def get_init_inputs(): return []\n"
    )
    kernel = "import torch\nclass ModelNew:\n    def __call__(self, x): return x.exp().sum(0).log()"
    run = kprof("analyze", *write(kernel, ref), "--blocks", "precision,timing", "--device", "cpu")
    assert run.code == 0, run.stderr
    assert run.block("precision")["passed"] is True


def test_names_beside_the_kernel_shadow_nothing(kprof: Any, write: Any, tmp_path: Path) -> None:
    for name in ("torch.py", "triton.py", "numpy.py", "json.py", "kprof.py"):
        (tmp_path / name).write_text("raise RuntimeError('shadowed')")
    (tmp_path / "beside.py").write_text("ONE = 1")
    run = kprof("analyze", *write("import beside\n" + GOOD.replace("+ 1", "+ beside.ONE")), cwd=REPO / "docs")
    assert run.code == 2  # the files are named from the folder that the caller stands in
    kernel, ref = tmp_path / "kernel.py", tmp_path / "ref.py"
    run = kprof("analyze", kernel, "--ref", ref, "--blocks", "precision", cwd=REPO)
    assert run.code == 0, run.stderr


def test_the_working_folder_stays_the_callers(kprof: Any, write: Any, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "data.txt").write_text("1")
    write(GOOD.replace("import torch", "import torch\nADD = int(open('data.txt').read())").replace("+ 1", "+ ADD"))
    run = kprof("analyze", "../kernel.py", "--ref", "../ref.py", "--blocks", "precision", cwd=tmp_path / "sub")
    assert run.code == 0, run.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere.py",), "nowhere.py does not exist"),
        ((), "give a kernel file, or --capture"),
        (("kernel.py", "--set", "N"), "NAME=VALUE was expected"),
        (("kernel.py", "--blocks", "timing,speed"), "no block speed"),
        (("kernel.py", "-o", "no/such/folder/r.json"), "does not exist"),
        (("--capture", "kernel.py"), "is not JSON"),
    ],
)
def test_usage_errors_exit_2_with_what_and_what_to_do(
    kprof: Any, write: Any, arguments: tuple[str, ...], says: str
) -> None:
    write(GOOD)
    run = kprof("analyze", *arguments)
    assert (run.code, run.stdout) == (2, "")
    assert says in run.stderr
    assert "kprof: hint:" in run.stderr


def test_what_the_kernels_file_sets_for_the_process_is_set_back_and_said(kprof: Any, write: Any) -> None:
    setting = "\ntorch.set_default_dtype(torch.float64)\ntorch.set_num_threads(1)\n"
    run = kprof("analyze", *write(GOOD + setting), "--blocks", "precision")
    assert run.code == 0, run.stderr
    (warning,) = run.report["workload"]["warnings"]
    assert warning["code"] == "kernel_changes_settings"
    assert "default dtype: torch.float64" in warning["message"]
    assert run.report["workload"]["inputs"][0]["dtype"] == "float32"


def test_an_unknown_override_lists_what_there_is(kprof: Any, write: Any) -> None:
    run = kprof("analyze", *write(GOOD), "--set", "M=3")
    assert "N=64" in run.stderr
    assert run.code == 2


def test_repeats_come_from_fresh_processes(kprof: Any, write: Any) -> None:
    run = kprof("analyze", *write(GOOD), "--blocks", "timing", "--repeats", "2")
    assert run.code == 0, run.stderr
    assert len(run.block("timing")["repeats"]) >= 1
