"""A function of autograd."""

import torch
from torch import nn

REF = "softmax"


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return torch.softmax(x, dim=-1)


class ModelNew(nn.Module):
    def forward(self, x):
        return Softmax.apply(x)
