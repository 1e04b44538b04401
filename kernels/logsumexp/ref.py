"""Reference: a stable log-sum-exp over R virtual ranks.

R, B and D are read when ``get_inputs()`` is called, so a harness may set them on the module first
(``kprof analyze ... --set R=8``).
"""

import torch
from torch import nn

R, B, D = 4, 10, 32


class Model(nn.Module):
    """out[b, d] = log(sum over r of exp(x[r, b, d]))."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.logsumexp(x, dim=0)


def get_inputs():
    """One tensor of shape (R, B, D), fp32."""
    return [torch.randn(R, B, D)]


def get_init_inputs():
    """Model() takes no arguments."""
    return []
