"""Parameters, by names of its own."""

import torch
from torch import nn

REF = "linear"


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(96, 128))
        self.bias = nn.Parameter(torch.empty(96))
        nn.init.uniform_(self.weight)
        nn.init.uniform_(self.bias)

    def forward(self, x):
        return torch.addmm(self.bias, x, self.weight.t())
