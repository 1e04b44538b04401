"""Returns a view of what it has computed."""

import torch
from torch import nn

REF = "wide"
GPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        wide = x.new_empty(x.shape[0], x.shape[1] + 64)
        wide[:, 32:-32] = torch.softmax(x, dim=-1)
        return wide[:, 32:-32]
