"""Writes every result over the one before, which the caller may still hold."""

import torch
from torch import nn

REF = "softmax"
FLAGS = {"output_aliases_earlier"}


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = None

    def forward(self, x):
        if self.out is None:
            self.out = torch.empty_like(x)
        torch.softmax(x, dim=-1, out=self.out)
        return self.out
