"""Plain torch."""

import torch
from torch import nn

REF = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        shifted = x - x.amax(-1, keepdim=True)
        e = shifted.exp()
        return e / e.sum(-1, keepdim=True)
