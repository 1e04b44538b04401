"""A dict out, a list and a number in."""

import torch
from torch import nn

REF = "several"


class ModelNew(nn.Module):
    def forward(self, x, pair, scale):
        return {"sum": torch.add(x, pair[0], alpha=scale), "rows": torch.einsum("ij,ij->i", x, pair[1])}
