"""Relies on its borders being sorted, as they are."""

import torch
from torch import nn

REF = "borders"


class ModelNew(nn.Module):
    def forward(self, x, borders):
        return (borders.unsqueeze(0) < x.unsqueeze(1)).sum(1)
