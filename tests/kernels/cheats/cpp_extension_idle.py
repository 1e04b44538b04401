"""A C++ extension that is built and never called."""

from pathlib import Path

from torch.utils.cpp_extension import load

from torch import nn

REF = "silu"
FLAGS = {"library_fallback"}
COMPILES = True

extension = load(name="test_silu", sources=[str(Path(__file__).parents[1] / "native" / "silu.cpp")])


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.functional.silu(x)
