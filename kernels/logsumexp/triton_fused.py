"""Log-sum-exp over dim 0 in Triton: one kernel, one read of the input, any R.

Each program owns BLOCK outputs and walks the rows with a running maximum and a running sum in fp32. Triton launches on
torch's current stream.
"""

import torch
import triton
import triton.language as tl
from torch import nn

BLOCK = 512  # 4 warps of 32 threads, 4 fp32 each: one 16-byte load a thread and row


@triton.jit
def logsumexp_fused_kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    column = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = column < columns
    row_ptr = x_ptr + column  # moved on by one row a turn: row * columns could pass 32 bits
    maximum = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    shift = tl.zeros((BLOCK,), tl.float32)
    for _ in range(rows):
        value = tl.load(row_ptr, mask=inside, other=0.0).to(tl.float32)
        higher = tl.maximum(maximum, value)  # passes over NaN; the sum below does not
        # An infinite maximum is not subtracted: inf - inf would be NaN where the result is the infinity itself.
        shift = tl.where(tl.abs(higher) == float("inf"), 0.0, higher)
        total = total * tl.exp(maximum - shift) + tl.exp(value - shift)
        maximum = higher
        row_ptr += columns
    tl.store(out_ptr + column, shift + tl.log(total), mask=inside)


class ModelNew(nn.Module):
    """Takes one contiguous fp32 tensor (R, B, D) on a CUDA device."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not x.is_cuda or x.dtype != torch.float32 or x.dim() != 3 or not x.is_contiguous():
            raise ValueError(
                f"expected a contiguous fp32 (R, B, D) on a CUDA device; got {x.dtype}, shape {tuple(x.shape)}, "
                f"strides {x.stride()}, on {x.device}"
            )
        rows, *kept = x.shape
        out = torch.empty(kept, dtype=x.dtype, device=x.device)
        if out.numel():
            with torch.cuda.device(x.device):
                logsumexp_fused_kernel[(triton.cdiv(out.numel(), BLOCK),)](x, out, rows, out.numel(), BLOCK=BLOCK)
        return out
