"""Hands its input back instead of a result."""

import torch
from torch import nn

REF = "clamp"
FLAGS = {"output_aliases_input"}


class ModelNew(nn.Module):
    def forward(self, x):
        return x
