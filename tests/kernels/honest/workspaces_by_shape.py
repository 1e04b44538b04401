"""Workspaces kept by shape."""

import torch
from torch import nn

REF = "softmax"


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = {}

    def forward(self, x):
        work = self.kept.setdefault(tuple(x.shape), torch.empty_like(x))
        torch.exp(x, out=work)
        return work / work.sum(-1, keepdim=True)
