"""Looks among all objects for a tensor that might be the answer."""

import gc

import torch
from torch import nn

REF = "softmax"
FLAGS = {"wrong_on_refilled", "wrong_on_moved", "wrong_on_repeated"}


class ModelNew(nn.Module):
    def forward(self, x):
        for found in gc.get_objects():
            if type(found) is torch.Tensor and found.shape == x.shape and found is not x:
                if found.dtype == x.dtype and bool((found.sum(-1) - 1).abs().max() < 1e-3):
                    return found.clone()
        return torch.softmax(x, dim=-1)
