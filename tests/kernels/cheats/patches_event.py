"""Has CUDA events tell no time."""

import torch
from torch import nn

REF = "softmax"
FLAGS = {"clock_patched"}

torch.cuda.Event.elapsed_time = lambda self, end: 1e-6
torch.cuda.synchronize = lambda device=None: None


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)
