"""How long `kprof check` takes on a report against a baseline, and what it imports: under 0.5 s, without torch.

Run it with the interpreter that kprof is installed in: python benchmarks/check_startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 20
TARGET_S = 0.5
HEAVY = ("torch", "scipy", "pandas", "matplotlib")
DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "h200"
THRESHOLDS = """thresholds:
  - timing.speedup >= 1.2
  - precision.passed == true
  - launches.kernel_launches <= 1
regressions:
  timing.kernel_us: 3%
  timing.speedup: 3%
"""


def main() -> int:
    """Print the median and the slowest run; 1 when the target is missed or something heavy is imported."""
    with tempfile.TemporaryDirectory() as folder:
        report, gates = Path(folder, "report.json"), Path(folder, "thresholds.yaml")
        gates.write_text(THRESHOLDS)
        kprof = [sys.executable, "-m", "kprof"]
        capture = DATA / "cuda_naive_4x8192x4096.json"
        subprocess.run([*kprof, "analyze", "--capture", str(capture), "-q", "-o", str(report)], check=True)
        check = ["-m", "kprof", "check", str(report), "--thresholds", str(gates), "--baseline", str(report)]
        samples = []
        for _ in range(RUNS):
            began = time.perf_counter()
            subprocess.run([sys.executable, *check], capture_output=True, check=True)
            samples.append(time.perf_counter() - began)
        told = subprocess.run([sys.executable, "-X", "importtime", *check], capture_output=True, text=True, check=True)
    names = {line.rpartition("|")[2].strip().split(".")[0] for line in told.stderr.splitlines() if "|" in line}
    heavy = sorted(names & set(HEAVY))
    print(f"kprof check    {statistics.median(samples):.3f} s, median of {RUNS}; slowest {max(samples):.3f} s")
    print(f"heavy imports  {', '.join(heavy) or 'none'}")
    return int(statistics.median(samples) >= TARGET_S or bool(heavy))


if __name__ == "__main__":
    sys.exit(main())
