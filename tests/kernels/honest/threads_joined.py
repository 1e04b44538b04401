"""Halves of the work in threads that it waits for."""

import threading

import torch
from torch import nn

REF = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        half = x.shape[0] // 2

        def work(rows):
            out[rows] = torch.softmax(x[rows], dim=-1)

        threads = [threading.Thread(target=work, args=(rows,)) for rows in (slice(0, half), slice(half, None))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return out
