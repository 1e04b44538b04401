"""A C++ extension, called through Python."""

from pathlib import Path

from torch.utils.cpp_extension import load

import torch
from torch import nn

REF = "silu"
COMPILES = True

extension = load(name="test_silu", sources=[str(Path(__file__).parents[1] / "native" / "silu.cpp")])


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        extension.silu(x.data_ptr(), out.data_ptr(), x.numel())
        return out
