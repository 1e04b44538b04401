"""Rows scaled by a column that is expanded without a copy: its values cannot be written where they are."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, scale):
        return x * scale


def get_inputs():
    return [torch.randn(64, 256), torch.randn(64, 1).expand(64, 256)]


def get_init_inputs():
    return []
