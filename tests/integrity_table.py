"""Runs every cheating and every honest test kernel and prints what was found.

``python tests/integrity_table.py DEVICE [FILE]``: DEVICE is ``cpu`` (the kernels for the CPU) or ``cuda:0`` (those for
a GPU); the rows go to FILE as JSON. The tables of docs/integrity.md are made from it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from integrity_runs import Kernel, kernels, run


def row(kernel: Kernel, folder: str, device: str, cache: Path) -> dict[str, Any]:
    """What was found of one kernel."""
    began = time.monotonic()
    report = run(kernel.path, kernel.ref, cache, device=device, profile=device != "cpu" or kernel.profiled)
    block = report.blocks.integrity
    checks = block.checks or ()
    failed = [check.name for check in checks if check.passed is False and check.severity == "fail"]
    advised = [check.name for check in checks if check.passed is False and check.severity == "advisory"]
    flagged = {*failed, *advised}
    return {
        "folder": folder,
        "kernel": kernel.name,
        "wanted": sorted(kernel.flags),
        "caught": bool(flagged & kernel.flags) or (kernel.wrong and report.blocks.precision.passed is False),
        "all_wanted": kernel.flags <= flagged,
        "failed": failed,
        "advised": advised,
        "unknown": {check.name: check.reason for check in checks if check.passed is None},
        "passed": block.passed,
        "right": report.blocks.precision.passed,
        "timing": [report.blocks.timing.status, report.blocks.timing.kernel_us, report.blocks.timing.ref_us],
        "details": {check.name: check.detail for check in checks if check.passed is False},
        "repeated_us": block.repeated_us,
        "never_seen_us": block.never_seen_us,
        "looked_at": [block.timed_calls, block.looked_at, block.judged],
        "faults": [
            [fault.stage, fault.side, fault.code, fault.message, fault.detail[-1500:]] for fault in report.faults
        ],
        "seconds": round(time.monotonic() - began, 1),
    }


def main() -> None:
    """All kernels of one device, one after the other."""
    device = sys.argv[1]
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for folder in ("cheats", "honest"):
            for kernel in kernels(folder, gpu=device != "cpu"):
                found = row(kernel, folder, device, Path(cache))
                rows.append(found)
                good = found["caught"] if folder == "cheats" else not (found["failed"] or found["advised"])
                mark = "ok " if good else "BAD"
                print(
                    f"{mark} {folder:6} {kernel.name:32} {found['seconds']:5.1f}s passed {found['passed']!s:5} "
                    f"right {found['right']!s:5} {', '.join(found['failed'] + found['advised'])}"
                    f"{'' if good else ' wanted ' + ', '.join(found['wanted'])}"
                    f"{' unknown ' + str(found['unknown']) if found['unknown'] else ''}",
                    flush=True,
                )
                for fault in found["faults"] if not good or folder == "honest" else ():
                    print(f"       {fault[:4]}\n{fault[4][-600:]}", flush=True)
    counts = Counter(
        (one["folder"], one["caught"] if one["folder"] == "cheats" else bool(one["failed"])) for one in rows
    )
    print(dict(counts), f"{sum(one['seconds'] for one in rows):.0f} s")
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
