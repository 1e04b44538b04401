"""Hardware counters on a real GPU, by a real ncu. Numbers are an H200's where they are compared.

Run with: python -m pytest -m gpu tests/test_end_to_end_counters_gpu.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from running import LOGSUMEXP, REPO, Run, run_analyze

from kprof.collectors.ncu.reading import read_report
from kprof.counters.resolve import resolve

pytestmark = pytest.mark.gpu

LARGE = ("--set", "R=4", "--set", "B=8192", "--set", "D=4096")
READ_BYTES, WRITTEN_BYTES = 4 * 8192 * 4096 * 4, 8192 * 4096 * 4
QUICK = ("--blocks", "launches,bottleneck,roofline")
REF = """
import torch
class Model(torch.nn.Module):
    def forward(self, x): return x + 1
def get_inputs(): return [torch.randn(1 << 16)]
"""
FAULT_UNDER_NCU = """
import os, torch, triton
import triton.language as tl
@triton.jit
def far_away(x, n: tl.constexpr):
    tl.store(x + 10**13 + tl.arange(0, n), 1.0)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        if os.environ.get("KPROF_UNDER_NCU"):
            far_away[(1,)](x, 32)
        return x + 1
"""
ONLY_UNDER_NCU = """
import os, torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        if os.environ.get("KPROF_UNDER_NCU"):
            {body}
        return x + 1
"""
WAIT_FOR_EACH_OTHER = """
import torch, triton
import triton.language as tl
@triton.jit
def wait(flag):
    while tl.atomic_add(flag, 0) <= 0:
        pass
    tl.atomic_add(flag, -1)
@triton.jit
def let_go(flag):
    tl.atomic_add(flag, 1)
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.flag = torch.zeros(1, dtype=torch.int32, device="cuda")
        self.other = torch.cuda.Stream()
        let_go[(1,)](self.flag)
        wait[(1,)](self.flag)
    def forward(self, x):
        wait[(1,)](self.flag)
        with torch.cuda.stream(self.other):
            let_go[(1,)](self.flag)
        return x + 1
"""
REF_MATMUL = """
import torch
class Model(torch.nn.Module):
    def forward(self, a, b): return a @ b
def get_inputs(): return [torch.randn(2048, 2048, dtype=torch.bfloat16) for _ in range(2)]
"""


@pytest.fixture(autouse=True)
def _needs_ncu() -> None:
    if shutil.which("ncu") is None:
        pytest.skip("needs Nsight Compute's ncu on PATH (found none)")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def measure(tmp_path: Path, cache: Path) -> Callable[..., Run]:
    def call(kernel: str | Path, *arguments: str, ref: str | Path = REF) -> Run:
        return run_analyze(kernel, ref, *arguments, folder=tmp_path, cache=cache)

    return call


def faults(run: Run) -> list[tuple[str, str | None, str]]:
    return [(fault["stage"], fault["side"], fault["code"]) for fault in run.report["faults"]]


def filled(report: dict[str, Any], *paths: str) -> None:
    """Each of the fields has a value."""
    for path in paths:
        block, field = path.split(".")
        assert report["blocks"][block][field] is not None, (path, report["blocks"][block]["reasons"].get(field))


FIELDS = (
    "timing.kernel_us", "timing.ref_us", "timing.speedup", "precision.max_abs_error", "precision.mean_rel_error",
    "memory.kernel_peak_mb", "memory.ratio", "launches.kernel_launches", "launches.fusion_ratio",
    "launches.kernel_device_time_us", "sol.score", "sol.dram_util_pct", "sol.compute_util_pct", "sol.dominant_pipe",
    "sol.task_score", "sol.floor_us", "bottleneck.family", "roofline.arithmetic_intensity", "roofline.ridge_point",
    "roofline.dram_bandwidth_gbs", "roofline.fp32_tflops", "roofline.dram_util_pct", "occupancy.achieved_pct",
    "occupancy.theoretical_pct", "caches.l1_hit_pct", "caches.l2_hit_pct", "caches.ld_sectors_per_request",
    "caches.st_sectors_per_request", "occupancy.registers_per_thread", "occupancy.smem_static_bytes",
    "occupancy.block_size", "roofline.peak_bandwidth_gbs", "roofline.peak_fp32_tflops", "roofline.peak_fp16_tflops",
    "stalls.top", "stalls.all", "stalls.warp_cycles_per_instruction", "waterfall.host_us", "waterfall.gap_us",
)  # fmt: skip


def test_the_tiny_kernel_leaves_no_gap(measure: Callable[..., Run]) -> None:
    run = measure(LOGSUMEXP / "cuda_naive.py", ref=LOGSUMEXP / "ref.py")
    assert run.code == 0, run.stderr
    report = run.report
    assert report["faults"] == []
    filled(report, *FIELDS)
    occupancy, stalls, bound = (report["blocks"][name] for name in ("occupancy", "stalls", "bottleneck"))
    assert (occupancy["grid_size"], occupancy["block_size"], occupancy["smem_static_bytes"]) == (2, 256, 0)
    assert len(stalls["top"]) == 5
    assert sum(one["share_pct"] for one in stalls["all"]) == pytest.approx(100)
    assert bound["family"] == "launch"
    own, *others = report["kernels"]
    assert (own["side"], own["bottleneck"]["family"], own["bottleneck"]["limiter"]) == (
        "kernel",
        "latency",
        "under_filled",
    )
    assert len(others) == 9
    assert all(one["bottleneck"] is not None for one in others)
    (once,) = report["counters"]["runs"]
    assert once["passes"] <= 12
    assert report["environment"]["ncu"]


def test_the_large_kernel_moves_the_bytes_it_must(measure: Callable[..., Run]) -> None:
    run = measure(LOGSUMEXP / "cuda_naive.py", *LARGE, ref=LOGSUMEXP / "ref.py")
    assert run.code == 0, run.stderr
    report = run.report
    filled(report, *FIELDS)
    roofline, kernel = report["blocks"]["roofline"], report["kernels"][0]
    duration_s = roofline["total_flop"] / (roofline["fp32_tflops"] + roofline["fp16_tflops"]) / 1e12
    assert roofline["dram_read_gbs"] * 1e9 * duration_s == pytest.approx(READ_BYTES, rel=0.02)
    written = roofline["dram_write_gbs"] * 1e9 * duration_s
    assert WRITTEN_BYTES - report["environment"]["l2_bytes"] <= written <= WRITTEN_BYTES * 1.01
    assert kernel["name"] == "logsumexp_kernel"
    assert report["counters"]["runs"][0]["passes"] <= 12
    floor = report["blocks"]["sol"]
    assert floor["floor_bytes"] == READ_BYTES + WRITTEN_BYTES
    assert 0 < floor["task_score"] < 1


def test_it_agrees_with_ncus_full_set_and_takes_less_time(
    measure: Callable[..., Run], tmp_path: Path, cache: Path
) -> None:
    ours = tmp_path / "ours.ncu-rep"
    run = measure(LOGSUMEXP / "cuda_naive.py", *LARGE, *QUICK, "--keep-ncu-report", str(ours), ref=LOGSUMEXP / "ref.py")
    assert run.code == 0, run.stderr
    caller = tmp_path / "call.py"
    caller.write_text(
        "import sys, torch\n"
        f"sys.path[:0] = [{str(LOGSUMEXP)!r}]\n"
        "import cuda_naive, ref\n"
        "ref.R, ref.B, ref.D = 4, 8192, 4096\n"
        "x = torch.randn(4, 8192, 4096, device='cuda')\n"
        "with torch.no_grad():\n"
        "    model = cuda_naive.ModelNew()\n"
        "    for _ in range(3): model(x)\n"
        "    torch.cuda.synchronize(); torch.cuda.cudart().cudaProfilerStart(); model(x); torch.cuda.synchronize()\n"
    )
    theirs = tmp_path / "theirs.ncu-rep"
    command = ["ncu", "--set", "full", "--clock-control", "none", "--profile-from-start", "off", "--force-overwrite"]
    began = time.monotonic()
    subprocess.run(
        [*command, "--export", str(theirs), sys.executable, str(caller)], check=True, capture_output=True, cwd=REPO
    )
    their_seconds = time.monotonic() - began
    assert run.report["counters"]["runs"][0]["seconds"] < their_seconds + 10
    mine = next(one for one in read_report(ours).launches if one.side == "kernel")
    (full,) = read_report(theirs).launches
    mine_q, full_q = resolve(mine), resolve(full)
    for name, spread in {
        "duration_ns": 0.05, "dram_read_bytes": 0.02, "dram_write_bytes": 0.1, "issue_pct": 0.05, "alu_pct": 0.05,
        "occupancy_pct": 0.05, "l1_hit_sectors": 0.05, "registers_per_thread": 0.0, "load_sectors_per_request": 0.0,
        "fp32_fma": 0.0, "dram_busy_pct": 0.05, "warp_cycles_per_instruction": 0.1, "instructions": 0.01,
    }.items():  # fmt: skip
        theirs_value = getattr(full_q, name)
        if theirs_value is not None:
            assert getattr(mine_q, name) == pytest.approx(theirs_value, rel=max(spread, 1e-9)), name


def test_tensor_flop_of_a_product(measure: Callable[..., Run]) -> None:
    body = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, a, b): return torch.matmul(a, b)\n"
    run = measure(body, *QUICK, ref=REF_MATMUL)
    assert run.code == 0, run.stderr
    roofline = run.block("roofline")
    assert roofline["tensor_flop"]["bf16"] == pytest.approx(2 * 2048**3, rel=0.1)
    assert [one["purpose"] for one in run.report["counters"]["runs"]] == ["default", "tensor"]
    assert roofline["roof_type"] == "bf16"


def test_what_only_fails_under_ncu_costs_its_blocks_alone(measure: Callable[..., Run]) -> None:
    raised = measure(ONLY_UNDER_NCU.format(body="raise ValueError('not under a profiler')"), *QUICK)
    assert raised.code == 0, raised.stderr
    assert faults(raised) == [("counters", "kernel", "raised")]
    assert raised.block("roofline")["status"] == "failed"
    assert raised.block("launches")["kernel_launches"] == 1
    assert any(one["side"] == "ref" and one["roofline"] is not None for one in raised.report["kernels"])


def test_a_fault_on_the_device_under_ncu_is_the_sides(measure: Callable[..., Run]) -> None:
    run = measure(FAULT_UNDER_NCU, *QUICK)
    assert run.code == 0, run.stderr
    stage, side, _ = faults(run)[0]
    assert (stage, side) == ("counters", "kernel")
    assert run.block("launches")["kernel_launches"] == 1


def test_a_call_that_launches_nothing(measure: Callable[..., Run]) -> None:
    body = "import torch\nclass {name}(torch.nn.Module):\n    def forward(self, x): return x[:8]\n"
    inputs = "def get_inputs(): return [torch.randn(16)]\n"
    run = measure(body.format(name="ModelNew"), *QUICK, ref=body.format(name="Model") + inputs)
    assert run.code == 0, run.stderr
    assert run.block("roofline")["reason"]["code"] == "ncu_no_kernels"


def test_kernels_that_wait_for_each_other_are_ended(measure: Callable[..., Run]) -> None:
    run = measure(WAIT_FOR_EACH_OTHER, *QUICK, "--timeout", "40")
    assert run.code == 0, run.stderr
    assert ("counters", "kernel", "ncu_timeout") in faults(run) or ("counters", None, "ncu_timeout") in faults(run)
    assert "wait" in run.report["faults"][0]["message"] + run.report["faults"][0]["detail"]
    assert run.block("launches")["kernel_launches"] == 3


def test_no_ncu_and_a_cap(measure: Callable[..., Run]) -> None:
    without = measure(LOGSUMEXP / "cuda_naive.py", *QUICK, "--ncu", "/nowhere/ncu", ref=LOGSUMEXP / "ref.py")
    assert without.code == 0
    assert without.block("roofline")["reason"]["code"] == "ncu_not_found"
    capped = measure(LOGSUMEXP / "cuda_naive.py", *QUICK, "--max-launches", "3", ref=LOGSUMEXP / "ref.py")
    assert [warning["code"] for warning in capped.report["counters"]["warnings"]] == ["launches_capped"]
    assert sum(one["roofline"] is not None for one in capped.report["kernels"]) == 4
    assert len(capped.report["kernels"]) == 10
