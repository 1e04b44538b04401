"""Runs every cheating and every honest test kernel and prints what was found.

``python tests/integrity_table.py DEVICE [FILE]``: DEVICE is ``cpu`` (the kernels for the CPU) or ``cuda:0`` (those for
a GPU); the rows go to FILE as JSON, after each kernel, so that a run that is ended has its rows. The tables of
docs/integrity.md are made from it. ``--fresh`` runs kernels for the CPU as those for a GPU run: in processes that are
not forked from one with torch. ``--only A,B`` runs those kernels alone.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from integrity_runs import Kernel, kernels, run


def row(kernel: Kernel, folder: str, device: str, cache: Path, fresh: bool | None = None) -> dict[str, Any]:
    """What was found of one kernel."""
    began = time.monotonic()
    profile = device != "cpu" or kernel.profiled
    report = run(kernel.path, kernel.ref, cache, device=device, profile=profile, fresh=fresh)
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


def told(found: dict[str, Any]) -> str:
    """One row in words."""
    good = found["caught"] if found["folder"] == "cheats" else not (found["failed"] or found["advised"])
    text = (
        f"{'ok ' if good else 'BAD'} {found['folder']:6} {found['kernel']:32} {found['seconds']:5.1f}s "
        f"passed {found['passed']!s:5} right {found['right']!s:5} {', '.join(found['failed'] + found['advised'])}"
    )
    text += "" if good else f" wanted {', '.join(found['wanted'])}"
    text += f" unknown {found['unknown']}" if found["unknown"] else ""
    for fault in found["faults"] if not good or found["folder"] == "honest" else ():
        text += f"\n       {fault[:4]}\n{fault[4][-600:]}"
    return text


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--only", type=lambda text: text.split(","))
    return parser.parse_args()


def main() -> None:
    """All kernels of one device, one after the other."""
    asked = arguments()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as cache:
        for folder in ("cheats", "honest"):
            for kernel in kernels(folder, gpu=asked.device != "cpu"):
                if asked.only and kernel.name not in asked.only:
                    continue
                rows.append(row(kernel, folder, asked.device, Path(cache), asked.fresh or None))
                print(told(rows[-1]), flush=True)
                if asked.file:
                    asked.file.write_text(json.dumps(rows, indent=1))
    counts = Counter(
        (one["folder"], one["caught"] if one["folder"] == "cheats" else bool(one["failed"])) for one in rows
    )
    print(dict(counts), f"{sum(one['seconds'] for one in rows):.0f} s")


if __name__ == "__main__":
    main()
