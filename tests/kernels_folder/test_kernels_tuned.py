"""The CUDA source of cuda_tuned.py, compiled for the processor: every shape, alignment and special value, with the
worst error that the fast exponential may have."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import pytest
import torch
from kernel_files import LOGSUMEXP, SHAPES, special_values, string_constant

SHIM = Path(__file__).parent / "cuda_on_cpu.h"
LAUNCH = re.compile(r"(\w+)<<<(\w+), (\w+), 0, stream>>>\((.*?)\);", re.DOTALL)
EXP2 = re.compile(r'asm\("ex2\.approx\.ftz\.f32 %0, %1;" : "=f"\((\w+)\) : "f"\((.*?)\)\);')
MAIN = """
extern "C" void run(const float* x, float* out, long rows, long columns) {
  launch_logsumexp(x, out, rows, columns, nullptr);
}
"""


def for_the_processor(source: str) -> str:
    """The source with its launch as a loop and its one instruction of assembly as a function."""
    source, launches = LAUNCH.subn(r"run_grid(\2, \3, [&] { \1(\4); });", source)
    source, exponentials = EXP2.subn(r"\1 = approximate_exp2(\2);", source)
    assert (launches, exponentials) == (1, 1), "the source has changed: this test must follow it"
    return source.replace("#include <cuda_runtime.h>", f'#include "{SHIM}"') + MAIN


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("tuned")
    source, target = folder / "tuned.cpp", folder / "tuned.so"
    source.write_text(for_the_processor(string_constant(LOGSUMEXP / "cuda_tuned.py", "CUDA_SOURCE")))
    flags = ["-O1", "-std=c++17", "-shared", "-fPIC", "-w", "-fno-strict-aliasing", "-ffp-contract=off"]
    done = subprocess.run(["c++", *flags, str(source), "-o", str(target)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(target))


def run(library: ctypes.CDLL, x: torch.Tensor, offset: int = 0) -> torch.Tensor:
    """The log-sum-exp of the kernel; ``offset``: floats by which both tensors miss the alignment of 16 bytes."""
    rows, *kept = x.shape
    held = torch.empty(x.numel() + 8)
    shift = (-held.data_ptr() // 4) % 4 + offset
    given = held[shift : shift + x.numel()].copy_(x.reshape(-1))
    room = torch.full((x[0].numel() + 8,), torch.nan)
    first = (-room.data_ptr() // 4) % 4 + offset
    out = room[first : first + x[0].numel()]
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (given, out)]
    library.run(*pointers, ctypes.c_long(rows), ctypes.c_long(x[0].numel()))
    outside = torch.cat((room[:first], room[first + x[0].numel() :]))
    assert outside.isnan().all(), "nothing is written outside"
    return out.clone().reshape(kept)


@pytest.mark.parametrize("offset", [0, 1, 2])
@pytest.mark.parametrize("shape", [*SHAPES, (4, 8, 128), (4, 1, 1024), (7, 3, 4), (2, 2, 6), (9, 1, 2052)])
def test_every_shape_and_alignment_is_near_fp64(library: ctypes.CDLL, shape: tuple[int, ...], offset: int) -> None:
    for scale, about in ((3.0, 0.0), (1.0, -1000.0), (30.0, 5000.0)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(7)) * scale + about
        expected = torch.logsumexp(x.double(), dim=0)
        tolerance = 3 * 2**-23
        torch.testing.assert_close(run(library, x, offset).double(), expected, rtol=tolerance, atol=tolerance)


def test_special_values_agree(library: ctypes.CDLL) -> None:
    x = special_values()
    torch.testing.assert_close(run(library, x), torch.logsumexp(x, dim=0), rtol=1e-6, atol=1e-6, equal_nan=True)


def test_special_values_agree_in_every_row_of_many(library: ctypes.CDLL) -> None:
    """What a later group of rows brings must not be lost on what an earlier one left."""
    few = special_values()
    for rows in (5, 8, 11):
        for shift in range(rows):
            x = torch.zeros(rows, *few.shape[1:])
            x[: few.shape[0]] = few
            x = x.roll(shift, dims=0)
            expected = torch.logsumexp(x, dim=0)
            torch.testing.assert_close(run(library, x), expected, rtol=1e-6, atol=1e-6, equal_nan=True)


def test_no_rows_are_minus_infinity(library: ctypes.CDLL) -> None:
    out = torch.zeros(8)
    library.run(None, ctypes.c_void_p(out.data_ptr()), ctypes.c_long(0), ctypes.c_long(8))
    assert torch.equal(out, torch.full((8,), -torch.inf))
