"""Triton, autotuned in the first call."""

import triton
import triton.language as tl

import torch
from torch import nn

REF = "wide"
GPU = True


@triton.autotune(configs=[triton.Config({}, num_warps=warps) for warps in (4, 8)], key=["columns"])
@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < columns
    values = tl.load(x + at, mask=mask, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + at, values / tl.sum(values, axis=0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        softmax[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out
