"""Returns a view of what it has computed."""

import torch
from torch import nn

REF = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        wide = x.new_empty(x.shape[0], x.shape[1] + 8)
        torch.softmax(x, dim=-1, out=wide[:, 4:-4])
        return wide[:, 4:-4]
