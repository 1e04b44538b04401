"""``kprof doctor`` and its measured roofs on a real GPU. Numbers are an H200's where they are compared.

Run with: python -m pytest -m gpu tests/test_end_to_end_doctor_gpu.py
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from running import LOGSUMEXP, run_analyze, run_kprof

from kprof.ceilings_evidence import CeilingsEvidence, decode_ceilings

pytestmark = pytest.mark.gpu

# 188 sectors of 32 bytes a clock leave L2 (Nsight Compute's lts__lts2xbar_cycles_active.sum.peak_sustained on this
# board). Its clock outside a profiler is not told; under ncu it was 1709 MHz while SMs ran at 1956, so their highest
# is taken for its bound.
L2_AT_SM_CLOCK = 188 * 32 * 1980e6
TENSOR = 1980 / 1830 * 1.03  # Tensor peaks are stated at 1830 MHz.
# A peak, the least share of it that streaming programs and libraries are known to reach on an H200 less some room for
# a busy day, and the most that can be.
BOUNDS = {
    "dram_read": (4916.7e9, 0.87, 1.0), "dram_copy": (4916.7e9, 0.78, 1.0), "dram_triad": (4916.7e9, 0.81, 1.0),
    "l2": (L2_AT_SM_CLOCK, 0.75, 1.0), "l1": (33.45e12, 0.85, 1.03), "shared": (33.45e12, 0.85, 1.03),
    "fp32": (66.9e12, 0.90, 1.03), "fp64": (33.5e12, 0.90, 1.03), "fp16_vector": (133.8e12, 0.90, 1.03),
    "bf16": (989.4e12, 0.70, TENSOR), "fp16": (989.4e12, 0.65, TENSOR), "fp8": (1978.9e12, 0.60, TENSOR),
}  # fmt: skip


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def ceilings(cache: Path) -> CeilingsEvidence:
    run = run_kprof("doctor", "--ceilings", "--json", cwd=cache, cache=cache)
    assert run.code == 0, run.stderr
    return decode_ceilings(run.stdout.encode(), "stdout")


def test_everything_works_here(cache: Path) -> None:
    run = run_kprof("doctor", "--json", cwd=cache, cache=cache)
    checks = json.loads(run.stdout)["checks"]
    assert run.code == 0, [check for check in checks if check["state"] == "fail"]
    assert {check["state"] for check in checks} <= {"ok", "warn"}
    # With torch and ncu in memory, as on an H200; from a cold start `doctor` took 14 to 16 s there.
    assert run_kprof("doctor", cwd=cache, cache=cache).seconds < 10


def test_every_roof_of_the_board_was_measured(ceilings: CeilingsEvidence) -> None:
    assert ceilings.absent == {}
    assert {"tf32", "int8", "empty_kernel", "launch", "launch_and_wait"} <= {one.name for one in ceilings.measured}


@pytest.mark.parametrize("name", BOUNDS)
def test_they_stand_where_such_programs_are_known_to_stand(name: str, ceilings: CeilingsEvidence) -> None:
    if torch.cuda.get_device_name() != "NVIDIA H200":
        pytest.skip(f"the figures are those of an NVIDIA H200; found {torch.cuda.get_device_name()}")
    peak, least, most = BOUNDS[name]
    found = ceilings.get(name)
    assert found is not None
    assert least <= found.median / peak <= most


def test_a_report_is_held_against_them(ceilings: CeilingsEvidence, cache: Path, tmp_path: Path) -> None:
    options = ("--roof", "measured", "--blocks", "sol,roofline,timing", "-q")
    run = run_analyze(LOGSUMEXP / "triton_fused.py", LOGSUMEXP / "ref.py", *options, folder=tmp_path, cache=cache)
    assert run.code == 0, run.stderr
    sources = {one["level"]: one["source"] for one in reversed(run.block("roofline")["ceilings"])}
    assert sources["dram"] == "measured"
    assert run.report["ceilings"]["created"] == ceilings.created
