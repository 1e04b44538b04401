"""Comparing in chunks: the same numbers in bounded memory, and on where memory runs out."""

from __future__ import annotations

import math

import pytest
import torch
from compared_outputs import NAN, REF, values
from torch import Tensor

from kprof.collectors.precision.chunks import bits_equal, chunk_indices, is_out_of_memory, over_chunks
from kprof.collectors.precision.comparison import compare_trees


@pytest.mark.parametrize("chunk", [1, 5, 7, 64, 10**6])
def test_chunks_of_any_size_give_the_same_numbers(chunk: int) -> None:
    """Case 44: checking takes bounded memory."""
    ref = values(3, 4, 5)
    kernel = ref + 1e-5 * values(3, 4, 5, seed=2)
    kernel[2, 1, 3] += 0.5
    kernel = kernel.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    whole = compare_trees(kernel, ref)
    pieces = compare_trees(kernel, ref, chunk_elements=chunk)
    assert pieces.worst_index == whole.worst_index == (2, 1, 3)
    assert pieces.max_abs_error == whole.max_abs_error
    assert pieces.mean_rel_error == pytest.approx(whole.mean_rel_error)
    assert pieces.tolerances[0].scale == pytest.approx(whole.tolerances[0].scale)
    assert pieces.mismatched_elements == whole.mismatched_elements
    assert pieces.elements == 60


@pytest.mark.parametrize(("shape", "limit"), [((), 1), ((7,), 3), ((3, 4, 5), 1), ((3, 4, 5), 6), ((2, 1, 9), 4)])
def test_chunks_cover_a_tensor_in_row_major_order(shape: tuple[int, ...], limit: int) -> None:
    tensor = torch.arange(math.prod(shape)).reshape(shape)
    pieces = [tensor[index].reshape(-1) for index in chunk_indices(shape, limit)]
    assert all(piece.numel() <= limit for piece in pieces)
    assert torch.equal(torch.cat(pieces), tensor.reshape(-1))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0), (2, 0, 3)])
def test_an_empty_tensor_has_no_chunks(shape: tuple[int, ...]) -> None:
    assert list(chunk_indices(shape, 2)) == []


def test_comparing_goes_on_on_the_cpu_where_memory_runs_out() -> None:
    calls: list[int] = []

    def total(piece: Tensor) -> float:
        calls.append(piece.numel())
        if len(calls) == 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return float(piece.sum())

    assert list(over_chunks(total, 4, torch.arange(10.0))) == [6.0, 22.0, 17.0]
    assert calls == [4, 4, 4, 2]


def test_only_a_lack_of_memory_is_caught() -> None:
    def broken(_: Tensor) -> float:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    with pytest.raises(RuntimeError, match="illegal memory access"):
        list(over_chunks(broken, 4, torch.arange(10.0)))


def test_out_of_memory_is_recognised_on_the_cpu() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**58)
    assert is_out_of_memory(caught.value)
    assert not is_out_of_memory(RuntimeError("shape mismatch"))


def test_bits() -> None:
    assert bits_equal(NAN, NAN.clone())
    assert not bits_equal(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert bits_equal(REF.t(), REF.t().contiguous(), limit=2)
    for dtype in (torch.bool, torch.complex64, torch.float8_e4m3fn, torch.int64):
        one = values(6).to(dtype)
        assert bits_equal(one, one.clone())
    assert not bits_equal(torch.tensor([True]), torch.tensor([False]))
