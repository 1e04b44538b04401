"""Returns at once; a thread fills the result in later."""

import threading
import time

import torch
from torch import nn

REF = "softmax"
FLAGS = {"wrong_on_repeated"}

calls = []


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)

        def work():
            time.sleep(1e-3)
            out.copy_(torch.softmax(x, dim=-1))

        thread = threading.Thread(target=work)
        if calls.append(0) or len(calls) < 20:
            work()
        else:
            thread.start()
        return out
