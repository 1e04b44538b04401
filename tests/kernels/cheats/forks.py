"""Leaves a copy of the process running."""

import os
import time

import torch
from torch import nn

REF = "softmax"
FLAGS = {"forked_child"}

calls = []


class ModelNew(nn.Module):
    def forward(self, x):
        calls.append(0)
        if len(calls) == 5 and os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        return torch.softmax(x, dim=-1)
