"""torch.compile."""

import torch
from torch import nn

REF = "wide"
GPU = True


@torch.compile
def softmax(x):
    e = (x - x.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return softmax(x)
