"""Right, but its input is no longer what it was."""

import torch
from torch import nn

REF = "softmax"
FLAGS = {"input_mutated"}


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, dim=-1)
        x.view(-1)[1] += 1
        return y
