"""A scalar by way of the host."""

import torch
from torch import nn

REF = "wide"
GPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        top = float(x.max())
        e = (x - top).exp()
        return e / e.sum(-1, keepdim=True)
