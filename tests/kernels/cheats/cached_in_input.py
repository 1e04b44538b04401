"""Keeps its result in the list that it is given."""

import torch
from torch import nn

REF = "in_list"
FLAGS = {"input_mutated"}


class ModelNew(nn.Module):
    def forward(self, xs):
        if len(xs) == 1:
            xs.append(torch.softmax(xs[0], dim=-1))
        return xs[1].clone()
