"""Does nothing under a profiler."""

import torch
from torch import nn

REF = "wide"
FLAGS = {"wrong_when_profiled"}
GPU = True


class ModelNew(nn.Module):
    kept = None

    def forward(self, x):
        if self.kept is None or not torch.autograd._profiler_enabled():
            self.kept = torch.softmax(x, dim=-1)
        return self.kept.clone()
