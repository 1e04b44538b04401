"""TorchScript."""

import warnings

warnings.simplefilter("ignore")
import torch
from torch import nn

REF = "softmax"


def shifted(x: torch.Tensor) -> torch.Tensor:
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


softmax = torch.jit.trace(shifted, torch.randn(2, 3))


class ModelNew(nn.Module):
    def forward(self, x):
        return softmax(x)
