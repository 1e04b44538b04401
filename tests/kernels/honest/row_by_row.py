"""A loop over rows."""

import torch
from torch import nn

REF = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        for row in range(x.shape[0]):
            out[row] = torch.softmax(x[row], dim=-1)
        return out
