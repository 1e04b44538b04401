"""Halves on two streams of its own, both waited for."""

import torch
from torch import nn

REF = "wide"
GPU = True


class ModelNew(nn.Module):
    streams = None

    def forward(self, x):
        if self.streams is None:
            self.streams = [torch.cuda.Stream(), torch.cuda.Stream()]
        now = torch.cuda.current_stream()
        out = torch.empty_like(x)
        for stream, rows in zip(self.streams, (slice(0, 1024), slice(1024, None))):
            stream.wait_stream(now)
            with torch.cuda.stream(stream):
                torch.softmax(x[rows], dim=-1, out=out[rows])
        for stream in self.streams:
            now.wait_stream(stream)
        return out
