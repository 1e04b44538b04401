"""Fills memory that the kernel will be given with NaN, so that what it leaves unwritten shows.

Freed memory may hold the reference's result, or zeros from the system: either can pass for a right answer.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import torch
import torch.utils.deterministic

from kprof.collectors.precision.chunks import is_out_of_memory
from kprof.trees import bytes_of, tensor_leaves

CPU_METHOD: Final = "torch fills new CPU tensors with NaN (whole numbers with their type's largest)"
CUDA_METHOD: Final = "freed CUDA blocks of the results' sizes hold bytes of 0xFF: NaN in floating types"
_BLOCKS_EACH: Final = 2
"""Blocks of each size: an intermediate as large as the result must not use up the only one."""
_FILL_BYTE: Final = 0xFF
"""NaN in fp16, bf16, fp32, fp64 and both fp8 types with NaN there; -1 or the largest whole number; true."""


@contextmanager
def poisoned_memory(device: torch.device, sizes: Sequence[int]) -> Iterator[str | None]:
    """While the context lasts (CPU), or from its start (CUDA), memory that torch hands out is poisoned.

    Args:
        device: where the kernel runs.
        sizes: bytes of the tensors it is expected to make; the CPU needs none.

    Yields:
        How it was done; None: it was not (another device, or no memory to spare).
    """
    if device.type == "cpu":
        with _filled_empty_tensors():
            yield CPU_METHOD
    elif device.type == "cuda":
        yield _poison_cuda(device, sizes)
    else:
        yield None


def sizes_of(tree: Any) -> list[int]:
    """Bytes of each tensor in ``tree``."""
    return [bytes_of(tensor) for _, tensor in tensor_leaves(tree)]


@contextmanager
def _filled_empty_tensors() -> Iterator[None]:
    """Torch's own filling of uninitialized memory; it is tied to deterministic mode, here in its warning form.

    Covers ``torch::empty`` in C++ extensions too, which goes through the same operator. The warnings about operators
    without a deterministic form are not for the user: the mode is ours.
    """
    settings: Any = torch.utils.deterministic  # A module with a property, which its types do not show.
    mode, fill = torch.get_deterministic_debug_mode(), settings.fill_uninitialized_memory
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not have a deterministic implementation")
        settings.fill_uninitialized_memory = True
        torch.set_deterministic_debug_mode("warn")
        try:
            yield
        finally:
            torch.set_deterministic_debug_mode(mode)
            settings.fill_uninitialized_memory = fill


def _poison_cuda(device: torch.device, sizes: Sequence[int]) -> str | None:
    """Fill blocks and hand them back to the caching allocator, which gives them out again first."""
    blocks: list[torch.Tensor] = []
    try:
        for size in sizes:
            if size:
                blocks += [
                    torch.full((size,), _FILL_BYTE, dtype=torch.uint8, device=device) for _ in range(_BLOCKS_EACH)
                ]
        # The kernel may run on another stream than the one that filled them.
        torch.cuda.synchronize(device)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    return CUDA_METHOD if blocks else None
