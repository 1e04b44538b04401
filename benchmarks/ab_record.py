"""Record reports of one kernel in fresh processes, and of the same kernel made slower, to judge gates on.

    python benchmarks/ab_record.py OUT.json.gz                 on a GPU; about 9 minutes
    python benchmarks/ab_record.py OUT.json.gz --device cpu    the same procedure on C++ kernels, small and short

Each report is one run of ``kprof analyze --blocks timing``: processes of its own, the extension found compiled. Sizes
and delays take turns, and slowed runs stand between plain ones, so that drift of the board falls on all alike. What is
kept of a report is what a gate reads: workload, environment and the block timing with the samples of its headline view.
``benchmarks/ab_judge.py`` compares all pairs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[1]
ROUNDS = 12


@dataclass(frozen=True)
class Size:
    """One problem size, and the delays of the slowed kernels."""

    name: str
    sets: tuple[str, ...]
    plain: int
    """Reports of the kernel as it is, over all rounds."""
    delays: tuple[int, ...] = ()
    """Cycles for which the last blocks spin; see ``benchmarks/ab/delayed.py`` for what comes of them."""
    slowed: int = 0
    """Reports of each delay, over all rounds."""


ON_GPU = (
    Size("tiny", ("R=4", "B=10", "D=32"), 12, (100,), 3),
    Size("short", ("R=8", "B=10", "D=32"), 12, (100, 200), 4),
    Size("medium", ("R=4", "B=1280", "D=1024"), 6, (20, 100), 3),
    Size("large", ("R=4", "B=8192", "D=4096"), 6, (2900, 3600), 3),
)
ON_CPU = (Size("tiny", (), 12), Size("medium", ("R=4", "B=64", "D=256"), 12))


def main() -> int:
    """Record, and write what there is whenever a round ends; 1 when a run failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda:0", help="cuda:N or cpu")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="end after so many of the rounds")
    parser.add_argument("--seconds", type=float, default=600.0, help="begin no run after this long")
    arguments = parser.parse_args()
    sizes = ON_CPU if arguments.device == "cpu" else ON_GPU
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        kernels = _kernels(Path(folder), sizes, on_cpu=arguments.device == "cpu")
        recorded: dict[str, dict[str, list[Any]]] = {
            size.name: {str(cycles): [] for cycles in (0, *size.delays)} for size in sizes
        }
        began = time.monotonic()
        _analyze(kernels[0], sizes[0], arguments.device)  # compiles; its times are those of a cold machine
        print(f"compiled and warm after {time.monotonic() - began:.0f} s", flush=True)
        for turn in range(min(arguments.rounds, ROUNDS)):
            for size, cycles in _due(sizes, turn):
                if time.monotonic() - began > arguments.seconds:
                    continue
                report, seconds = _analyze(kernels[cycles], size, arguments.device)
                failed |= report is None
                if report is not None:
                    recorded[size.name][str(cycles)].append(_kept(report))
                    kernel_us = report["blocks"]["timing"]["kernel_us"]
                    print(f"{turn:2} {size.name:7} {cycles:5} {kernel_us} us, run of {seconds:.1f} s", flush=True)
            _write(arguments.out, recorded)
    return int(failed)


def _due(sizes: tuple[Size, ...], turn: int) -> list[tuple[Size, int]]:
    """The runs of one round: each size's spread evenly over all rounds, sizes in turn."""

    def times(count: int) -> int:
        return (turn + 1) * count // ROUNDS - turn * count // ROUNDS

    plain = [(size, 0) for size in sizes for _ in range(times(size.plain))]
    return plain + [(size, cycles) for size in sizes for cycles in size.delays for _ in range(times(size.slowed))]


def _kernels(folder: Path, sizes: tuple[Size, ...], *, on_cpu: bool) -> dict[int, Path]:
    """A kernel file a delay; all of them build the same extension."""
    source = (REPO / ("kernels/logsumexp/cpu.py" if on_cpu else "benchmarks/ab/delayed.py")).read_text()
    made: dict[int, Path] = {}
    for cycles in sorted({0, *(delay for size in sizes for delay in size.delays)}):
        made[cycles] = folder / f"delayed_{cycles}.py"
        made[cycles].write_text(source.replace("DELAY_CYCLES = 0\n", f"DELAY_CYCLES = {cycles}\n"))
    return made


def _analyze(kernel: Path, size: Size, device: str) -> tuple[dict[str, Any] | None, float]:
    began = time.monotonic()
    command = [sys.executable, "-m", "kprof", "analyze", str(kernel), "--ref", str(REPO / "kernels/logsumexp/ref.py")]
    command += ["--blocks", "timing", "--device", device, "-q"]
    command += [part for one in size.sets for part in ("--set", one)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPO)
    seconds = time.monotonic() - began
    if done.returncode != 0:
        print(f"{size.name} {kernel.name}: exit code {done.returncode}\n{done.stderr}", flush=True)
        return None, seconds
    return json.loads(done.stdout), seconds


def _kept(report: dict[str, Any]) -> dict[str, Any]:
    timing = report["blocks"]["timing"]
    view = timing["headline_view"]
    samples = {name: value for name, value in timing["samples_us"].items() if name == view}
    for side in ("kernel", "ref"):
        if samples[view][side] is not None:
            samples[view][side] = [round(one, 4) for one in samples[view][side]]
    kept = {key: report[key] for key in ("schema_version", "kprof_version", "created", "source")}
    files = {key: Path(report["workload"][key]).name for key in ("kernel_file", "ref_file")}
    kept["workload"] = {**report["workload"], **files}
    kept["environment"] = {**report["environment"], "command": []}
    kept["blocks"] = {"timing": {**timing, "samples_us": samples, "reasons": {}}}
    return kept


def _write(out: Path, recorded: dict[str, Any]) -> None:
    text = json.dumps({"reports": recorded}, separators=(",", ":"))
    out.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    sys.exit(main())
