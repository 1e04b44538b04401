"""A search in sorted borders: elements exchanged are no borders any more."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, borders):
        return torch.searchsorted(borders, x)


def get_inputs():
    return [torch.randn(256), torch.randn(64).sort().values]


def get_init_inputs():
    return []
