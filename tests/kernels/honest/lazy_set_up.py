"""Sets itself up in the first call."""

import torch
from torch import nn

REF = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        if not hasattr(self, "ready"):
            self.ready = torch.zeros(1)
        return torch.softmax(x + self.ready, dim=-1)
