"""Has the reference sleep."""

import sys
import time

import torch
from torch import nn

REF = "softmax"
FLAGS = {"reference_patched"}

reference = next(module for name, module in sys.modules.items() if name.startswith("kprof_ref_"))
original = reference.Model.forward


def forward(self, x):
    time.sleep(1e-3)
    return original(self, x)


reference.Model.forward = forward


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)
