"""A CUDA graph whose inputs and outputs are copied."""

import torch
from torch import nn

REF = "wide"
GPU = True


class ModelNew(nn.Module):
    graph = None

    def forward(self, x):
        if torch.cuda.is_current_stream_capturing():
            return torch.softmax(x, dim=-1)
        if self.graph is None:
            self.x = x.clone()
            torch.softmax(self.x, dim=-1)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = torch.softmax(self.x, dim=-1)
        self.x.copy_(x)
        self.graph.replay()
        return self.out.clone()
