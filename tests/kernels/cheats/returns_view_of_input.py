"""Hands back a view of its input."""

import torch
from torch import nn

REF = "clamp"
FLAGS = {"output_aliases_input"}


class ModelNew(nn.Module):
    def forward(self, x):
        return x.view(-1).view(x.shape)
