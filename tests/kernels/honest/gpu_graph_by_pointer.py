"""CUDA graphs by the addresses of the inputs, which they read anew."""

import torch
from torch import nn

REF = "wide"
GPU = True


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graphs = {}

    def forward(self, x):
        if torch.cuda.is_current_stream_capturing():
            return torch.softmax(x, dim=-1)
        if x.data_ptr() not in self.graphs:
            torch.softmax(x, dim=-1)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = torch.softmax(x, dim=-1)
            self.graphs[x.data_ptr()] = (graph, out, x)
        graph, out, _ = self.graphs[x.data_ptr()]
        graph.replay()
        return out.clone()
