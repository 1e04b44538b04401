"""What the tests of kernels/ share: where the files are, shapes and values that break formulas, nvcc."""

from __future__ import annotations

import ast
import math
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
LOGSUMEXP = KERNELS / "logsumexp"
PROBES = KERNELS / "probes"

INF, NAN = math.inf, math.nan
# (R, B, D): one element, one row, a tail, either side of a tile of cpu.py, several threads' worth, many rows.
SHAPES = [(1, 1, 1), (1, 3, 5), (4, 10, 32), (3, 11, 93), (5, 25, 41), (8, 130, 257), (1000, 2, 7)]

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc on PATH (found none)")


def special_values() -> torch.Tensor:
    """(4, 1, N): in each column another mixture of infinities, NaN and extremes."""
    big = torch.finfo(torch.float32).max
    columns = [
        (-INF, -INF, -INF, -INF),
        (INF, INF, INF, INF),
        (INF, -INF, 0.0, 1.0),
        (-INF, INF, -INF, INF),
        (-INF, -INF, 2.0, -INF),
        (2.0, -INF, -INF, -INF),
        (NAN, 0.0, 1.0, 2.0),
        (0.0, 1.0, 2.0, NAN),
        (NAN, NAN, NAN, NAN),
        (INF, NAN, -INF, 0.0),
        (-INF, -INF, NAN, -INF),
        (NAN, INF, INF, INF),
        (big, -big, big, -big),
        (-big, -big, -big, -big),
        (0.0, -88.0, -104.0, -1e30),
        (-200.0, 100.0, -3e38, INF),
        (1e-45, -1e-45, 0.0, -0.0),
    ]
    return torch.tensor(columns).t().reshape(4, 1, -1).contiguous()


def string_constant(path: Path, name: str) -> str:
    """The text that a file assigns to ``name``, read without importing the file."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return str(ast.literal_eval(node.value))
    raise AssertionError(f"{path.name} assigns no {name}")


def run_nvcc(arguments: list[str]) -> None:
    """Run nvcc; its messages are the failure's message."""
    done = subprocess.run(["nvcc", *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
