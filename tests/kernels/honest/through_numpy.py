"""Computes in numpy."""

import numpy as np
import torch
from torch import nn

REF = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        values = x.numpy()
        e = np.exp(values - values.max(-1, keepdims=True))
        return torch.from_numpy(e / e.sum(-1, keepdims=True))
