"""Works in place, as the reference does."""

import torch
from torch import nn

REF = "inplace"


class ModelNew(nn.Module):
    def forward(self, x):
        x += x
        return x
