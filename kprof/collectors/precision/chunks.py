"""Walks tensors a bounded number of elements at a time: checking a result never needs much memory of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import torch
from torch import Tensor

from kprof.errors import first_line

CPU_CHUNK: Final = 2**18
"""Elements compared at once on a CPU: the float64 temporaries stay in its caches (five times faster than 2^22)."""
DEVICE_CHUNK: Final = 2**23
"""Elements compared at once on a GPU: about ten float64 temporaries, two thirds of a GiB."""

_Result = TypeVar("_Result")
Index = tuple[int | slice, ...]


def chunk_indices(shape: tuple[int, ...], limit: int) -> Iterator[Index]:
    """Indices that cut a tensor into pieces of at most ``limit`` elements, in row-major order, whatever its strides."""
    if 0 in shape:
        return
    if not shape:
        yield ()
        return
    row = math.prod(shape[1:])
    if row > limit:
        for index in range(shape[0]):
            for rest in chunk_indices(shape[1:], limit):
                yield (index, *rest)
        return
    step = max(1, limit // max(row, 1))
    for start in range(0, shape[0], step):
        yield (slice(start, start + step),)


def over_chunks(fn: Callable[..., _Result], limit: int | None, *tensors: Tensor) -> Iterator[_Result]:
    """``fn`` of the same flat piece of each tensor, one after the other.

    Where the device has no memory left for ``fn``, pieces go to the CPU.

    Args:
        fn: takes one flat tensor for each of ``tensors``.
        limit: elements of a piece; None: what suits the device.
        tensors: of equal shape.
    """
    on_cpu = False
    if limit is None:
        limit = CPU_CHUNK if tensors[0].device.type == "cpu" else DEVICE_CHUNK
    for index in chunk_indices(tuple(tensors[0].shape), limit):
        if not on_cpu:
            try:
                result = fn(*[tensor[index].reshape(-1) for tensor in tensors])
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                on_cpu = True
        if on_cpu:
            result = fn(*[tensor[index].cpu().reshape(-1) for tensor in tensors])
        yield result


def is_out_of_memory(error: BaseException) -> bool:
    """The device, or the machine, had no memory left."""
    if isinstance(error, (torch.cuda.OutOfMemoryError, MemoryError)):
        return True
    # The CPU's allocator raises a plain RuntimeError.
    return isinstance(error, RuntimeError) and "can't allocate memory" in first_line(error)


def wide(tensor: Tensor) -> Tensor:
    """The same values in float64, or complex128."""
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def bits_equal(first: Tensor, second: Tensor, limit: int | None = None) -> bool:
    """Equal bit for bit (NaN with the same payload too), for tensors of equal shape and dtype."""
    return all(over_chunks(_same_bits, limit, first, second))


def _same_bits(first: Tensor, second: Tensor) -> bool:
    return torch.equal(_bytes(first), _bytes(second))


def _bytes(flat: Tensor) -> Tensor:
    resolved = flat.resolve_conj().resolve_neg().contiguous()
    return resolved if resolved.dtype == torch.bool else resolved.view(torch.uint8)
