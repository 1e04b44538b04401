"""Computes on the transpose; the result has other strides."""

import torch
from torch import nn

REF = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.t().contiguous(), dim=0).t()
