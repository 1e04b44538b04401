"""A pool of threads that stays, each call waited for."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

REF = "softmax"

pool = ThreadPoolExecutor(2)


class ModelNew(nn.Module):
    def forward(self, x):
        parts = x.chunk(2)
        return torch.cat(list(pool.map(lambda part: torch.softmax(part, dim=-1), parts)))
