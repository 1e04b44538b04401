"""Bytes that a reference reads of its inputs and weights, each element once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from floor_runs import Layers, codes, floor, randn
from torch import Tensor, nn


@pytest.mark.parametrize(
    ("read", "elements"),
    [
        (lambda x: x.exp(), 64 * 32),
        (lambda x: x[:, :10].exp(), 640),
        (lambda x: x[3].sum() + x[5].sum(), 64),
        (lambda x: x[3:7].sum() + x[5:9].sum(), 6 * 32),
        (lambda x: x[:, ::2].sum() + x[:, 1::2].sum(), 64 * 32),
        (lambda x: x.t().exp(), 64 * 32),
        (lambda x: x[0].expand(1000, 32).sum(), 32),
        (lambda x: x.view(-1).unfold(0, 5, 1).sum(1), 64 * 32),
        (lambda x: x.view(-1)[:100].unfold(0, 5, 3).sum(1), 98),
        (lambda x: torch.as_strided(x, (10, 4), (3, 7), 2).sum(), len({3 * (n // 4) + 7 * (n % 4) for n in range(40)})),
        (lambda x: x.diagonal().sum(), 32),
        (lambda x: torch.view_as_complex(x[:10].view(10, 16, 2)).abs(), 320),
        (lambda x: sum(x[:, i].sum() for i in range(7)), 7 * 64),
        (lambda x: x.sum() + x.mean() + x.max(), 64 * 32),
        (lambda x: torch.zeros_like(x) + x.new_ones(32), 0),
    ],
)  # fmt: skip
def test_only_the_elements_that_operators_reach_are_read_and_each_once(
    read: Callable[[Tensor], Tensor], elements: int
) -> None:
    evidence = floor(read, randn(64, 32))
    assert evidence.input_bytes == elements * 4
    assert evidence.indexing_operators == evidence.over_estimates == ()


def test_a_view_reads_and_writes_nothing() -> None:
    evidence = floor(lambda x: x.t()[2:], randn(8, 8))
    assert (evidence.input_bytes, evidence.output_bytes, codes(evidence)) == (0, 0, [])


def test_inputs_that_share_memory_count_once() -> None:
    x = randn(8, 16)
    assert floor(lambda a, b: a.sum() + b.sum(), x, x[2:4]).input_bytes == 8 * 16 * 4
    assert floor(lambda a, b: a.sum() + b.sum(), x[:3], x[2:4]).input_bytes == 4 * 16 * 4


def test_inputs_lie_in_any_nesting_and_only_tensors_count() -> None:
    def ref(pair: tuple[Tensor, dict[str, Any]], scale: float, none: None) -> Tensor:
        return pair[0] * scale + pair[1]["b"]

    assert floor(ref, (randn(4), {"b": randn(4), "n": 3}), 2.0, None).input_bytes == 32


def test_an_expanded_input_counts_the_elements_that_are_there() -> None:
    assert floor(torch.exp, randn(1, 16).expand(64, 16)).input_bytes == 64


def test_tensors_without_elements_are_nothing() -> None:
    evidence = floor(lambda x, y: torch.cat([x, y]), torch.empty(0, 4), randn(2, 4))
    assert (evidence.input_bytes, evidence.output_bytes) == (32, 32)


def test_the_task_of_logsumexp_at_its_large_size() -> None:
    """536,870,912 bytes in and 134,217,728 out, by the arithmetic of the small size times the ratio of the sizes."""
    small = floor(lambda x: torch.logsumexp(x, dim=0), randn(4, 64, 32))
    ratio = (8192 * 4096) // (64 * 32)
    assert small.input_bytes is not None
    assert small.output_bytes is not None
    assert (small.input_bytes * ratio, small.output_bytes * ratio) == (536_870_912, 134_217_728)


def test_a_large_reference_on_no_device_at_all() -> None:
    """Metadata are enough: the same size on torch's meta device, where nothing is allocated."""
    x = torch.empty(4, 8192, 4096, device="meta")
    evidence = floor(lambda x: torch.logsumexp(x, dim=0), x)
    assert (evidence.input_bytes, evidence.output_bytes) == (536_870_912, 134_217_728)


def test_parameters_and_buffers_count_where_the_call_uses_them() -> None:
    evidence = floor(Layers().eval(), randn(2, 8))
    assert evidence.parameter_bytes == (8 * 4 + 4 + 4) * 4
    assert evidence.flop == {"fp32": 2 * 2 * 8 * 4}


def test_a_part_of_a_weight_counts_as_a_part() -> None:
    weight = nn.Parameter(randn(16, 8))
    assert floor(lambda x: x @ weight[:4].t(), randn(2, 8)).parameter_bytes == 4 * 8 * 4


def test_constants_of_the_text_are_no_weights() -> None:
    assert floor(lambda x: x * torch.tensor([1.0, 2.0]), randn(3, 2)).parameter_bytes == 0


def test_work_on_constants_alone_is_left_out() -> None:
    def ref(x: Tensor) -> Tensor:
        mask = torch.ones(64, 64).tril()[:8, :8]
        bias = torch.where(mask > 0, 0.0, -1.0)
        return (x + bias).softmax(-1)

    evidence = floor(ref, randn(8, 8))
    assert evidence.uncounted_operators == ("aten::add", "aten::_softmax")
    assert evidence.indexing_operators == evidence.over_estimates == ()
    assert (evidence.input_bytes, evidence.parameter_bytes) == (256, 0)


def test_room_made_ahead_is_no_constant_once_values_are_written_to_it() -> None:
    def ref(x: Tensor) -> Tensor:
        padded = torch.zeros(10, 8)
        padded[1:9] = x
        return padded.exp().triu()

    evidence = floor(ref, randn(8, 8))
    assert evidence.uncounted_operators == ("aten::exp",)
    assert evidence.indexing_operators == ("aten::triu",)


def test_an_embedding_counts_in_full_and_is_named() -> None:
    evidence = floor(nn.Embedding(1000, 16), torch.arange(5))
    assert evidence.parameter_bytes == 1000 * 16 * 4
    assert evidence.indexing_operators == ("aten::embedding",)
    assert (evidence.input_bytes, evidence.output_bytes) == (40, 5 * 16 * 4)
    assert evidence.uncounted_operators == ()
