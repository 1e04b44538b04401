import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1


def get_inputs():
    return [torch.rand(1000)]


def get_init_inputs():
    return []
