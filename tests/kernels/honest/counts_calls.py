"""A buffer that counts calls."""

import torch
from torch import nn

REF = "softmax"


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.calls += 1
        return torch.softmax(x, dim=-1)
