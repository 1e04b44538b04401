"""A thread launches the work after the call has returned."""

import threading
import time

import torch
from torch import nn

REF = "wide"
FLAGS = {"work_after_window"}
GPU = True

calls = []


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        calls.append(0)

        def work():
            time.sleep(2e-3)
            torch.softmax(x, dim=-1, out=out)
            torch.cuda.synchronize()

        if len(calls) < 20:
            work()
        else:
            threading.Thread(target=work).start()
        return out
