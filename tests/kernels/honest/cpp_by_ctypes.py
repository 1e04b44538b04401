"""A C++ library that is called through ctypes, which nobody can count."""

import ctypes
from pathlib import Path

from torch.utils.cpp_extension import load

import torch
from torch import nn

REF = "silu"
COMPILES = True

source = Path(__file__).parents[1] / "native" / "silu_plain.cpp"
load(name="test_silu_plain", sources=[str(source)], is_python_module=False)
(path,) = {line.split()[-1] for line in open("/proc/self/maps") if line.rstrip().endswith("/test_silu_plain.so")}
library = ctypes.CDLL(path)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        pointers = (ctypes.c_void_p(tensor.data_ptr()) for tensor in (x, out))
        library.silu(*pointers, ctypes.c_int64(x.numel()))
        return out
