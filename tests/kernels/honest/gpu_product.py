"""A product by blocks."""

import torch
from torch import nn

REF = "chain"
GPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        y = x
        for _ in range(8):
            y = torch.cat([torch.tanh(part @ x) for part in y.chunk(2)])
        return y
