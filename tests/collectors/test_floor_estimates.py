"""Where the floor may lie too high, it says so: parts read, results unused, code not seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from floor_runs import codes, floor, randn
from torch import Tensor, nn


@pytest.mark.parametrize(
    ("read", "operator"),
    [
        (lambda x: x.gather(1, torch.zeros(16, 1, dtype=torch.long).expand(16, 3)), "aten::gather"),
        (lambda x: x[torch.tensor([1, 2])], "aten::index"),
        (lambda x: x.index_select(0, torch.tensor([1])), "aten::index_select"),
        (lambda x: x.take(torch.tensor([1])), "aten::take"),
        (lambda x: x.masked_select(x > 0), "aten::masked_select"),
        (lambda x: torch.where(x > 0, x, 0.0), "aten::where"),
        (lambda x: x.masked_fill(torch.ones(16, 16).triu(1).bool(), 0.0), "aten::masked_fill"),
        (torch.triu, "aten::triu"),
        (lambda x: F.conv2d(x[None, None], torch.ones(1, 1, 1, 1), stride=2), "aten::convolution"),
        (lambda x: F.max_pool2d(x[None, None], 1, stride=2), "aten::max_pool2d_with_indices"),
        (lambda x: F.interpolate(x[None, None], scale_factor=0.5), "aten::upsample_nearest2d"),
        (lambda x: F.nll_loss(x, torch.zeros(16, dtype=torch.long)), "aten::nll_loss_forward"),
        (lambda x: torch.zeros(16, 16).scatter(0, torch.zeros(2, 2, dtype=torch.long), x), "aten::scatter"),
        (lambda x: torch.sparse.mm(torch.eye(16).to_sparse(), x), "aten::_sparse_addmm"),
    ],
)
def test_operators_that_may_read_a_part_are_named(read: Callable[[Tensor], Tensor], operator: str) -> None:
    evidence = floor(read, randn(16, 16))
    assert operator in evidence.indexing_operators
    assert evidence.input_bytes is not None
    assert evidence.input_bytes <= 16 * 16 * 4


@pytest.mark.parametrize(
    "read",
    [
        lambda x: F.conv2d(x, torch.ones(1, 1, 3, 3), stride=2, padding=1),
        lambda x: F.conv2d(x, torch.ones(1, 1, 3, 3), stride=2, dilation=3),
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, 3, 2),
        lambda x: F.interpolate(x, scale_factor=2.0),
    ],
)
def test_windows_that_meet_every_element_are_not(read: Callable[[Tensor], Tensor]) -> None:
    assert floor(read, randn(1, 1, 16, 16)).indexing_operators == ()


def test_work_that_was_not_needed_is_an_over_estimate() -> None:
    part = floor(lambda a, b: (a @ b)[-1], randn(8, 8), randn(8, 8))
    assert codes(part) == ["results_partly_used"]
    assert "aten::mm" in part.over_estimates[0].message
    dead = floor(lambda a: (a.exp(), a.sin())[0], randn(8, 8))
    assert codes(dead) == ["results_partly_used"]
    assert "aten::sin" in dead.over_estimates[0].message


def test_results_used_in_parts_that_make_the_whole_were_needed() -> None:
    assert codes(floor(lambda a: sum((a * 2).chunk(4, dim=1)), randn(8, 8))) == []
    assert codes(floor(lambda a: (a * 2).max(dim=0).values, randn(8, 8))) == []
    assert codes(floor(lambda a: F.layer_norm(a, (8,)), randn(8, 8))) == []


def test_memory_that_nothing_seen_wrote_means_that_all_inputs_may_be_read() -> None:
    """As with a Triton or CUDA kernel: torch makes the output, something else fills it."""

    class Raw(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(8))

        def forward(self, x: Tensor) -> Tensor:
            y = torch.empty_like(x)
            np.copyto(y.numpy(), x.numpy() * self.weight.detach().numpy())
            return y

    evidence = floor(Raw(), randn(4, 8))
    assert (evidence.input_bytes, evidence.parameter_bytes, evidence.output_bytes) == (128, 32, 128)
    assert codes(evidence) == ["unseen_code"]


def test_a_result_from_outside_torch_counts() -> None:
    evidence = floor(lambda x: torch.from_numpy(np.exp(x.numpy())), randn(4, 8))
    assert (evidence.input_bytes, evidence.output_bytes, codes(evidence)) == (128, 128, ["unseen_code"])


def test_operators_that_are_not_torchs_own_are_named() -> None:
    library = torch.library.Library("kprof_floor_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    evidence = floor(lambda x: torch.ops.kprof_floor_test.twice(x), randn(4, 8))
    assert evidence.uncounted_operators == ("kprof_floor_test::twice",)
    assert (evidence.input_bytes, evidence.output_bytes, codes(evidence)) == (128, 128, ["custom_operators"])


def test_a_function_with_a_backward_of_its_own() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x @ x

    assert floor(Twice.apply, randn(4, 4)).flop == {"fp32": 128}


def test_sparse_inputs_count_values_and_indices() -> None:
    sparse = torch.eye(16).to_sparse()
    evidence = floor(lambda s, d: torch.sparse.mm(s, d), sparse, randn(16, 4))
    assert evidence.input_bytes == 16 * 4 + 2 * 16 * 8 + 16 * 4 * 4
    assert evidence.flop == {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch: sparse CSR is in beta.
        rows = torch.eye(16).to_sparse_csr()
    assert floor(lambda s, d: s @ d, rows, randn(16, 4)).input_bytes == 16 * 4 + (17 + 16) * 8 + 16 * 4 * 4


def test_jagged_tensors_are_counted_by_the_tensors_within() -> None:
    def jagged() -> Tensor:
        return torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], layout=torch.jagged)

    evidence = floor(lambda x: F.linear(x, torch.ones(6, 4)), jagged())
    assert evidence.flop == {"fp32": 2 * 5 * 4 * 6}
    assert evidence.input_bytes == 5 * 4 * 4
    assert evidence.output_bytes is not None
    assert evidence.output_bytes >= 5 * 6 * 4


def test_a_subclass_with_a_rule_of_its_own_is_counted_from_outside() -> None:
    class Plain(Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    evidence = floor(torch.matmul, randn(4, 4).as_subclass(Plain), randn(4, 4))
    assert (evidence.flop, evidence.input_bytes, evidence.output_bytes) == ({"fp32": 128}, 128, 64)


def test_complex_and_small_types_have_their_own_size() -> None:
    assert floor(torch.abs, torch.ones(8, dtype=torch.complex64)).input_bytes == 64
    assert floor(torch.logical_not, torch.ones(8, dtype=torch.bool)).output_bytes == 8
