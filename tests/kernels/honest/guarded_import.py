"""A guard round an import, and words in comments that a search would find."""

import torch
from torch import nn

REF = "softmax"

try:
    import triton_of_no_kind
except ImportError:
    triton_of_no_kind = None


class ModelNew(nn.Module):
    def forward(self, x):
        # torch.matmul and time.perf_counter = 0 are only words here, and so is sys._getframe().
        return torch.softmax(x, dim=-1)
