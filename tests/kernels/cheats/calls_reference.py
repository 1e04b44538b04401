"""Has the reference compute."""

import sys

import torch
from torch import nn

REF = "softmax"
FLAGS = {"calls_reference"}

reference = next(module for name, module in sys.modules.items() if name.startswith("kprof_ref_"))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = reference.Model()

    def forward(self, x):
        return self.inner(x)
