"""Works in every other call only."""

import torch
from torch import nn

REF = "softmax"
FLAGS = {"wrong_on_refilled", "wrong_on_moved", "wrong_on_swapped"}


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.kept = 0, None

    def forward(self, x):
        self.calls += 1
        if self.calls < 40 or self.calls % 2 or self.kept is None:
            self.kept = torch.softmax(x, dim=-1)
        return self.kept.clone()
