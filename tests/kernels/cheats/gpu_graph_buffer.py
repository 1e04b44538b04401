"""A CUDA graph that writes every result over the one before."""

import torch
from torch import nn

REF = "wide"
FLAGS = {"output_aliases_earlier"}
GPU = True


class ModelNew(nn.Module):
    graph = None

    def forward(self, x):
        if self.graph is None:
            self.x = x.clone()
            torch.softmax(self.x, dim=-1)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = torch.softmax(self.x, dim=-1)
        self.x.copy_(x)
        self.graph.replay()
        return self.out
