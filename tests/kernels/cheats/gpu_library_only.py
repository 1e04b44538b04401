"""A Triton kernel that is never launched."""

import triton
import triton.language as tl

import torch
from torch import nn

REF = "wide"
FLAGS = {"library_fallback"}
GPU = True


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)
