"""How fast 10,000 launches of an ncu raw page are imported, and in how much memory.

Two widths: the metrics that kprof asks ncu for, and a full report. Every number that kprof reads differs from launch to
launch, but for those of the board, which are the same in every launch of a report. Run it from a checkout:
python benchmarks/ncu_import.py
"""

from __future__ import annotations

import csv
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kprof.collectors.ncu.reading import read_report
from kprof.counters.resolve import is_wanted

LAUNCHES = 10_000
RECORDED = Path(__file__).resolve().parents[1] / "tests" / "data" / "ncu" / "probes.raw.csv"
LAUNCH_COLUMNS = 11
METRICS_ONLY = 150
OF_BOARD = "device__attribute_"
TARGET_S = 10.0
TARGET_READING_S = 5.0
TARGET_GB = 1.0


def varied(cell: str, dice: random.Random) -> str:
    """The cell's number with other digits, in ncu's spelling; what is no number stays."""
    if not re.fullmatch(r"[0-9,]+(\.[0-9]+)?", cell) or cell == "0":
        return cell
    value = float(cell.replace(",", "")) * dice.uniform(0.9, 1.1)
    return f"{value:,.2f}" if "." in cell else f"{value:,.0f}"


def write_table(path: Path, metrics: int | None) -> int:
    """Write the table and return its width; ``metrics`` of None keeps every column of the recorded report."""
    with RECORDED.open(newline="", encoding="utf-8") as stream:
        header, units, *launches = list(csv.reader(stream))
    columns = list(range(len(header)))
    if metrics is not None:
        wanted = [column for column in columns[LAUNCH_COLUMNS:] if is_wanted(header[column])]
        columns = columns[:LAUNCH_COLUMNS] + wanted[:metrics]
    names = [header[column] for column in columns]
    moving = [place for place, name in enumerate(names) if is_wanted(name) and not name.startswith(OF_BOARD)]
    dice = random.Random(0)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow([header[column] for column in columns])
        writer.writerow([units[column] for column in columns])
        rows = [[launch[column] for column in columns] for launch in launches]
        for number in range(LAUNCHES):
            row = list(rows[number % len(rows)])
            row[0] = str(number)
            for place in moving:
                row[place] = varied(row[place], dice)
            writer.writerow(row)
    return len(columns)


def timed_reading(path: Path) -> float:
    """Seconds of reading alone, in a process of its own."""
    done = subprocess.run([sys.executable, __file__, str(path)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def read(path: Path) -> None:
    """Read the table; print the seconds."""
    began = time.perf_counter()
    evidence = read_report(path)
    if len(evidence.launches) != LAUNCHES or evidence.warnings:
        raise SystemExit(f"{len(evidence.launches)} launches, warnings: {evidence.warnings}")
    print(f"{time.perf_counter() - began:.2f}")


def timed_import(path: Path) -> float:
    """Seconds of ``kprof import`` from start to end, the report written."""
    command = [sys.executable, "-m", "kprof", "import", str(path), "-q", "-o", str(path.with_suffix(".json"))]
    began = time.perf_counter()
    subprocess.run(command, check=True, cwd=RECORDED.parents[3])
    return time.perf_counter() - began


def main() -> int:
    """Print a line a width; 1 when a target is missed. Memory is the largest child's so far: the widest is last."""
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        for metrics in (METRICS_ONLY, None):
            path = Path(folder, "launches.raw.csv")
            width = write_table(path, metrics)
            reading_s, whole_s = timed_reading(path), timed_import(path)
            peak_gb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
            print(
                f"{width:5} columns, {path.stat().st_size / 1e6:4.0f} MB: reading {reading_s:5.2f} s, "
                f"kprof import {whole_s:5.2f} s, peak {peak_gb:.2f} GB"
            )
            missed |= reading_s > TARGET_READING_S or whole_s > TARGET_S or peak_gb > TARGET_GB
    print(f"targets: reading under {TARGET_READING_S:g} s, the whole under {TARGET_S:g} s, under {TARGET_GB:g} GB")
    return int(missed)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        read(Path(sys.argv[1]))
    else:
        sys.exit(main())
