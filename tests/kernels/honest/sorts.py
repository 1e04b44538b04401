"""Sorts: its time depends on the values."""

import torch
from torch import nn

REF = "sort"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.stack([torch.sort(row).values for row in x])
