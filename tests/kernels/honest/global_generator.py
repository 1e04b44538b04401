"""Draws the same random numbers as the reference."""

import torch
from torch import nn

REF = "dropout"


class ModelNew(nn.Module):
    def forward(self, x):
        keep = torch.rand(x.shape) < 0.5
        return torch.where(keep, x, torch.zeros(()))
