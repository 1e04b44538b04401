"""Packs its weights in the first call and keeps them packed."""

import torch
from torch import nn

REF = "linear"


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(128, 96)
        self.packed = None

    def forward(self, x):
        if self.packed is None or self.version != self.linear.weight._version:
            self.packed, self.version = self.linear.weight.t().contiguous(), self.linear.weight._version
        return x @ self.packed + self.linear.bias
