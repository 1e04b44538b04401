"""Writes every result over the one three calls before, which the caller may still hold."""

import torch
from torch import nn

REF = "softmax"
FLAGS = {"output_aliases_earlier"}


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.buffers, self.calls = None, 0

    def forward(self, x):
        if self.buffers is None:
            self.buffers = [torch.empty_like(x) for _ in range(3)]
        self.calls += 1
        return torch.softmax(x, dim=-1, out=self.buffers[self.calls % 3])
