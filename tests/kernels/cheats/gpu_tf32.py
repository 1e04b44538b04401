"""TF32 under a contract of fp32."""

import torch
from torch import nn

REF = "matmul"
FLAGS = {"precision_traded"}
GPU = True
WRONG = True


class ModelNew(nn.Module):
    def forward(self, a, b):
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            return a @ b
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False
