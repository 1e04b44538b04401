"""How fast the command starts: `kprof --help` against an interpreter that only imports click.

Run it with the interpreter that kprof is installed in: python benchmarks/cli_startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 30
HEAVY = ("torch", "pandas", "matplotlib", "scipy", "numpy")
TARGET = 3.0


def wall_s(arguments: list[str]) -> float:
    """Wall time of one run of the interpreter, in seconds."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def imported(arguments: list[str]) -> set[str]:
    """Top-level packages that one run imports, as ``-X importtime`` tells."""
    done = subprocess.run([sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, check=True)
    lines = (line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:"))
    return {name.split(".")[0] for name in lines}


def main() -> int:
    """Print both medians, their ratio and what was imported; 1 when the target is missed."""
    commands = {"kprof --help": ["-m", "kprof", "--help"], "import click": ["-c", "import click"]}
    for arguments in commands.values():
        wall_s(arguments)
    samples: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(RUNS):
        for name, arguments in commands.items():
            samples[name].append(wall_s(arguments))
    medians = {name: statistics.median(values) for name, values in samples.items()}
    for name, seconds in medians.items():
        print(f"{name:14} {1e3 * seconds:6.1f} ms, median of {RUNS}")
    ratio = medians["kprof --help"] / medians["import click"]
    heavy = sorted(imported(commands["kprof --help"]) & set(HEAVY))
    print(f"ratio          {ratio:6.2f} (target: under {TARGET:g})")
    print(f"heavy imports  {', '.join(heavy) or 'none'}")
    return int(ratio >= TARGET or bool(heavy))


if __name__ == "__main__":
    sys.exit(main())
