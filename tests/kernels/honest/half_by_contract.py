"""Half precision, as the reference has it, computed in fp32."""

import torch
from torch import nn

REF = "half"


class ModelNew(nn.Module):
    def forward(self, x):
        wide = x.float()
        return (wide * torch.sigmoid(wide)).half()
