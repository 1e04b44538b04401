"""What hardware counters cost: passes and seconds of kprof's sets against Nsight Compute's own, on this machine's GPU.

Run it from a checkout on a machine with a GPU and ncu on PATH: python benchmarks/ncu_passes.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[1]
LOGSUMEXP = REPO / "kernels" / "logsumexp"
SIZES = {"(4, 10, 32)": (4, 10, 32), "(4, 8192, 4096)": (4, 8192, 4096)}
CALLER = """
import sys, torch
sys.path.insert(0, {folder!r})
import cuda_naive
x = torch.randn(*{size!r}, device="cuda")
with torch.no_grad():
    model = cuda_naive.ModelNew()
    for _ in range(3): model(x)
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    model(x)
    torch.cuda.synchronize()
"""


def kprof(size: tuple[int, int, int], counters: str) -> list[dict[str, Any]]:
    """Runs of ncu in one run of kprof, kernel alone."""
    sets = [part for name, value in zip("RBD", size, strict=True) for part in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "kprof", "analyze", str(LOGSUMEXP / "cuda_naive.py")]
    command += ["--ref", str(LOGSUMEXP / "ref.py"), *sets, "--kernel", "logsumexp_kernel", "--counters", counters, "-q"]
    done = subprocess.run([*command, "--blocks", "launches,roofline"], capture_output=True, check=True, cwd=REPO)
    runs: list[dict[str, Any]] = json.loads(done.stdout)["counters"]["runs"]
    return runs


def ncu_full(size: tuple[int, int, int]) -> float:
    """Seconds of ``ncu --set full`` round the same call."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "call.py"
        script.write_text(CALLER.format(folder=str(LOGSUMEXP), size=size))
        command = ["ncu", "--set", "full", "--clock-control", "none", "--profile-from-start", "off"]
        began = time.perf_counter()
        subprocess.run([*command, sys.executable, str(script)], check=True, capture_output=True, cwd=REPO)
        return time.perf_counter() - began


def main() -> None:
    """One line a size and set."""
    for name, size in SIZES.items():
        for counters in ("default", "full"):
            for run in kprof(size, counters):
                told = f"{run['passes']} passes, {run['seconds']:.1f} s, {run['metrics_asked']} metrics by name"
                print(f"{name}: kprof --counters {counters}, run {run['purpose']}: {told}")
        print(f"{name}: ncu --set full: {ncu_full(size):.1f} s")


if __name__ == "__main__":
    main()
