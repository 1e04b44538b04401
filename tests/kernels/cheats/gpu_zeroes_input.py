"""Overwrites its input."""

import torch
from torch import nn

REF = "wide"
FLAGS = {"input_mutated"}
GPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, dim=-1)
        x.zero_()
        return y
