"""vmap."""

import torch
from torch import nn

REF = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.vmap(lambda row: torch.softmax(row, dim=-1))(x)
