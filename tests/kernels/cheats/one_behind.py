"""Returns the result of the call before."""

import torch
from torch import nn

REF = "softmax"
FLAGS = {"wrong_on_refilled"}


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = None

    def forward(self, x):
        now = torch.softmax(x, dim=-1)
        result, self.before = now if self.before is None else self.before, now
        return result.clone()
