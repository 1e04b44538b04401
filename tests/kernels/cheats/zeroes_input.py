"""Overwrites its input, which a reference that came second would be given."""

import torch
from torch import nn

REF = "softmax"
FLAGS = {"input_mutated"}


class ModelNew(nn.Module):
    def forward(self, x):
        x.zero_()
        return torch.full_like(x, 1 / x.shape[-1])
