"""Two inputs and a number in, a dict out."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, pair, scale):
        return {"sum": x + scale * pair[0], "rows": (x * pair[1]).sum(-1)}


def get_inputs():
    return [torch.randn(32, 64), [torch.randn(32, 64), torch.randn(32, 64)], 0.5]


def get_init_inputs():
    return []
