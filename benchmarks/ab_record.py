"""Record reports of one kernel in fresh processes, and of the same kernel made slower, to judge gates on.

    python benchmarks/ab_record.py OUT.json.gz                 on a GPU; about 9 minutes
    python benchmarks/ab_record.py OUT.json.gz --device cpu    the same procedure on C++ kernels, small and short

Each report is one run of ``kprof analyze --blocks timing``: processes of its own, the extension found compiled. Sizes
take turns, and slowed runs stand between plain ones, so that drift of the board falls on all alike. What is kept of a
report is what a gate reads: workload, environment and the block timing with the samples of its headline view.
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
PLAIN = 12
SLOWED = 4
SLOWED_EVERY = PLAIN // SLOWED


@dataclass(frozen=True)
class Size:
    """One problem size, and the delay of the slowed kernel."""

    name: str
    sets: tuple[str, ...]
    delay_cycles: int
    """For which the last blocks spin; see ``benchmarks/ab/delayed.py`` for what comes of it."""


ON_GPU = (
    Size("tiny", (), 160),
    Size("medium", ("R=4", "B=1280", "D=1024"), 340),
    Size("large", ("R=4", "B=8192", "D=4096"), 6800),
)
ON_CPU = (Size("tiny", (), 0), Size("medium", ("R=4", "B=64", "D=256"), 0))


def main() -> int:
    """Record, and write what there is whenever a round ends; 1 when a run failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda:0", help="cuda:N or cpu")
    parser.add_argument("--rounds", type=int, default=PLAIN, help="plain reports a size")
    parser.add_argument("--seconds", type=float, default=600.0, help="begin no run after this long")
    arguments = parser.parse_args()
    on_cpu = arguments.device == "cpu"
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        kernels = _kernels(Path(folder), ON_CPU if on_cpu else ON_GPU, on_cpu=on_cpu)
        recorded: dict[str, dict[str, list[Any]]] = {size.name: {"plain": [], "slowed": []} for size in kernels}
        began = time.monotonic()
        first = next(iter(kernels))
        _analyze(kernels[first]["plain"], first, arguments.device)  # compiles; its times are those of a cold machine
        print(f"compiled and warm after {time.monotonic() - began:.0f} s", flush=True)
        for turn in range(arguments.rounds):
            kinds = ("plain", "slowed") if turn % SLOWED_EVERY == SLOWED_EVERY - 1 else ("plain",)
            for kind in kinds:
                for size, files in kernels.items():
                    if time.monotonic() - began > arguments.seconds:
                        continue
                    report, seconds = _analyze(files[kind], size, arguments.device)
                    failed |= report is None
                    if report is not None:
                        recorded[size.name][kind].append(_kept(report))
                        kernel_us = report["blocks"]["timing"]["kernel_us"]
                        print(f"{turn:2} {size.name:7} {kind:7} {kernel_us} us, run of {seconds:.1f} s", flush=True)
            _write(arguments.out, recorded, kernels)
    return int(failed)


def _kernels(folder: Path, sizes: tuple[Size, ...], *, on_cpu: bool) -> dict[Size, dict[str, Path]]:
    """A kernel file a size and kind; all of them build the same extension."""
    source = (REPO / ("kernels/logsumexp/cpu.py" if on_cpu else "benchmarks/ab/delayed.py")).read_text()
    made: dict[Size, dict[str, Path]] = {}
    for size in sizes:
        made[size] = {}
        for kind in ("plain", "slowed"):
            cycles = size.delay_cycles if kind == "slowed" else 0
            path = folder / f"{size.name}_{kind}.py"
            path.write_text(source.replace("DELAY_CYCLES = 0\n", f"DELAY_CYCLES = {cycles}\n"))
            made[size][kind] = path
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
    kept = {key: report[key] for key in ("schema_version", "kprof_version", "created", "source", "workload")}
    kept["environment"] = {**report["environment"], "command": []}
    kept["blocks"] = {"timing": {**timing, "samples_us": samples, "reasons": {}}}
    return kept


def _write(out: Path, recorded: dict[str, Any], kernels: dict[Size, dict[str, Path]]) -> None:
    cycles = {size.name: size.delay_cycles for size in kernels}
    text = json.dumps({"delay_cycles": cycles, "reports": recorded}, separators=(",", ":"))
    out.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    sys.exit(main())
