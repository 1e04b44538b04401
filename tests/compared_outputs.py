"""Outputs to compare, and what a comparison found, for the tests of its parts."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from kprof.collectors.precision.comparison import Comparison


def values(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def codes(comparison: Comparison) -> list[str]:
    return [mismatch.code for mismatch in comparison.mismatches]


REF = values(4, 3)
ONES = torch.ones(4, 3)
NAN, INF = torch.full((4,), math.nan), torch.full((4,), math.inf)
