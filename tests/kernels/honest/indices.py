"""Whole numbers in."""

import torch
from torch import nn

REF = "embedding"


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 32)

    def forward(self, index):
        return torch.index_select(self.table.weight, 0, index)
