"""A product in half precision, by contract."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(512, 512).half(), torch.randn(512, 512).half()]


def get_init_inputs():
    return []
