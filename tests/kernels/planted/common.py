import ctypes
import functools
from pathlib import Path

import torch
from torch.utils.cpp_extension import load


@functools.cache
def library():
    source = Path(__file__).resolve().parent / "planted.cu"
    load(name="planted", sources=[str(source)], is_python_module=False)
    (path,) = {line.split()[-1] for line in open("/proc/self/maps") if line.rstrip().endswith("/planted.so")}
    return ctypes.CDLL(path)


class Planted(torch.nn.Module):
    which = 0

    def __init__(self):
        super().__init__()
        self.planted = library().planted

    def forward(self, x):
        out, unwritten = torch.empty_like(x), torch.empty_like(x)
        pointers = (ctypes.c_void_p(t.data_ptr()) for t in (x, unwritten, out))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.planted(ctypes.c_int(self.which), *pointers, ctypes.c_int(x.numel()), stream)
        return out
