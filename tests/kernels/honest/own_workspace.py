"""A workspace of its own, made once; the result is its own."""

import torch
from torch import nn

REF = "softmax"


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.work = None

    def forward(self, x):
        if self.work is None or self.work.shape != x.shape:
            self.work = torch.empty_like(x)
        torch.sub(x, x.amax(-1, keepdim=True), out=self.work)
        self.work.exp_()
        return self.work / self.work.sum(-1, keepdim=True)
