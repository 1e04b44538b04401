"""Sizes that vary with the seed."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x.exp()


def get_inputs():
    return [torch.randn(popcorn_pri.jitter_int(64), 64)]


def get_init_inputs():
    return []
