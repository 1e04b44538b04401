"""Does nothing under a profiler."""

import torch
from torch import nn

REF = "heavy"
FLAGS = {"wrong_when_profiled"}


def compute(x):
    y = x
    for _ in range(12):
        y = torch.tanh(y @ x)
    return y


class ModelNew(nn.Module):
    kept = None

    def forward(self, x):
        if self.kept is None or not torch.autograd._profiler_enabled():
            self.kept = compute(x)
        return self.kept.clone()
