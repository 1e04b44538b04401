"""Synchronises in every call."""

import torch
from torch import nn

REF = "wide"
GPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, dim=-1)
        torch.cuda.synchronize()
        return y
