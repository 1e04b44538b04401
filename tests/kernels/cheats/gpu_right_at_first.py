"""Right in its first hundred calls."""

import torch
from torch import nn

REF = "wide"
FLAGS = {"wrong_on_repeated"}
GPU = True


class ModelNew(nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.softmax(x, dim=-1) if self.calls <= 100 else torch.empty_like(x)
