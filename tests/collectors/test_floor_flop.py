"""FLOP of references by operator and type of operands, and what TF32 may do of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from floor_runs import codes, floor, randn
from torch import Tensor, nn

from kprof.collectors.tf32 import convolution_may_use_tf32, matmul_may_use_tf32


@pytest.mark.parametrize(
    ("dtype", "name"),
    [(torch.float32, "fp32"), (torch.bfloat16, "bf16"), (torch.float16, "fp16"), (torch.float64, "fp64")],
)
def test_a_matrix_product_counts_two_flop_a_multiply_add_under_its_type(dtype: torch.dtype, name: str) -> None:
    evidence = floor(torch.matmul, randn(16, 32, dtype=dtype), randn(32, 8, dtype=dtype))
    assert evidence.flop == {name: 2 * 16 * 32 * 8}
    assert evidence.counted_operators == ("aten::mm",)
    assert evidence.uncounted_operators == evidence.indexing_operators == evidence.over_estimates == ()
    assert evidence.input_bytes == (16 * 32 + 32 * 8) * dtype.itemsize
    assert (evidence.parameter_bytes, evidence.output_bytes) == (0, 16 * 8 * dtype.itemsize)
    assert (evidence.source, evidence.reason) == ("ref", None)


def test_products_of_several_types_are_told_apart() -> None:
    def mixed(a: Tensor, b: Tensor) -> Tensor:
        return (a @ b).float() + a.bfloat16() @ b.bfloat16()

    assert floor(mixed, randn(8, 8), randn(8, 8)).flop == {"fp32": 1024, "bf16": 1024}


def test_autocast_counts_under_the_type_that_it_casts_to() -> None:
    def cast(a: Tensor, b: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return a @ b

    evidence = floor(cast, randn(8, 8), randn(8, 8))
    assert (evidence.flop, evidence.input_bytes, evidence.output_bytes) == ({"bf16": 1024}, 512, 128)


@pytest.mark.parametrize(
    ("product", "shapes", "flop"),
    [
        (torch.bmm, [(3, 4, 5), (3, 5, 6)], 2 * 3 * 4 * 5 * 6),
        (torch.addmm, [(6,), (4, 5), (5, 6)], 2 * 4 * 5 * 6),
        (torch.baddbmm, [(3, 4, 6), (3, 4, 5), (3, 5, 6)], 2 * 3 * 4 * 5 * 6),
        (torch.addbmm, [(4, 6), (3, 4, 5), (3, 5, 6)], 2 * 3 * 4 * 5 * 6),
        (torch.mv, [(4, 5), (5,)], 2 * 4 * 5),
        (torch.addmv, [(4,), (4, 5), (5,)], 2 * 4 * 5),
        (torch.dot, [(5,), (5,)], 10),
        (lambda c, a, b: c.addmm_(a, b), [(4, 6), (4, 5), (5, 6)], 2 * 4 * 5 * 6),
        (lambda a, b: torch.einsum("bij,bjk->bik", a, b), [(3, 4, 5), (3, 5, 6)], 2 * 3 * 4 * 5 * 6),
        (F.linear, [(2, 3, 5), (7, 5), (7,)], 2 * 6 * 5 * 7),
        (F.conv2d, [(2, 3, 8, 8), (4, 3, 3, 3)], 2 * 2 * 4 * 6 * 6 * 3 * 9),
        (lambda x, w: F.conv2d(x, w, groups=2), [(1, 4, 5, 5), (6, 2, 3, 3)], 2 * 6 * 9 * 2 * 9),
        (F.conv_transpose2d, [(1, 3, 5, 5), (3, 4, 2, 2)], 2 * 3 * 4 * 25 * 4),
        (F.scaled_dot_product_attention, [(2, 3, 8, 16)] * 3, 2 * 2 * 2 * 3 * 8 * 8 * 16),
    ],
)
def test_products_are_counted(product: Callable[..., Any], shapes: list[tuple[int, ...]], flop: int) -> None:
    evidence = floor(product, *[randn(*shape) for shape in shapes])
    assert evidence.flop == {"fp32": flop}
    assert evidence.uncounted_operators == ()


def test_integer_products_are_counted_as_such() -> None:
    a, b = torch.ones(32, 32, dtype=torch.int8), torch.ones(32, 32, dtype=torch.int8)
    assert floor(torch._int_mm, a, b).flop == {"int8": 2 * 32**3}


def test_a_product_inside_inference_mode_is_counted() -> None:
    """torch's own counter once saw none there: the operators arrive whole (pytorch#126268)."""

    @torch.inference_mode()
    def ref(x: Tensor, w: Tensor) -> Tensor:
        return F.linear(x, w).reshape(-1).softmax(0)

    evidence = floor(ref, randn(4, 5), randn(6, 5))
    assert evidence.flop == {"fp32": 2 * 4 * 5 * 6}
    assert evidence.uncounted_operators == ("aten::_softmax",)
    assert (evidence.input_bytes, evidence.output_bytes) == ((20 + 30) * 4, 24 * 4)


def test_what_the_counter_does_not_know_is_said() -> None:
    evidence = floor(lambda x: torch.logsumexp(x, dim=0), randn(4, 8, 16))
    assert evidence.flop == {}
    assert evidence.counted_operators == ()
    assert "aten::exp" in evidence.uncounted_operators or "aten::logsumexp" in evidence.uncounted_operators
    assert (evidence.input_bytes, evidence.output_bytes) == (4 * 8 * 16 * 4, 8 * 16 * 4)


def test_moving_elements_is_not_computing() -> None:
    evidence = floor(lambda x: torch.cat([x.t().contiguous(), x.bfloat16().float()]), randn(8, 8))
    assert evidence.uncounted_operators == evidence.counted_operators == ()


@pytest.mark.parametrize("mask", [{"is_causal": True}, {"attn_mask": torch.ones(8, 8).tril().bool()}])
def test_masked_attention_is_counted_in_full_and_said_to_be(mask: dict[str, Any]) -> None:
    q = randn(1, 2, 8, 16)
    evidence = floor(lambda x: F.scaled_dot_product_attention(x, x, x, **mask), q)
    assert evidence.flop == {"fp32": 2 * 2 * 2 * 8 * 8 * 16}
    assert codes(evidence) == ["masked_counted_in_full"]
    assert evidence.input_bytes == q.numel() * 4


def test_the_fused_path_of_an_encoder_layer_is_taken_apart() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).eval()
    evidence = floor(layer, randn(2, 3, 8))
    tokens, width, hidden = 6, 8, 16
    attention = 2 * 2 * 2 * 2 * 3 * 3 * 4
    assert evidence.flop == {"fp32": 2 * tokens * (3 * width**2 + width**2 + 2 * width * hidden) + attention}
    assert evidence.parameter_bytes == sum(each.numel() * 4 for each in layer.parameters())
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.fixture
def _precision_kept() -> Iterator[None]:
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    was = matmul.allow_tf32, cudnn.allow_tf32
    yield
    if hasattr(matmul, "fp32_precision"):
        matmul.fp32_precision = "ieee"
    matmul.allow_tf32, cudnn.allow_tf32 = was


@pytest.mark.usefixtures("_precision_kept")
def test_tf32_is_what_the_reference_allowed_for_each_kind_of_product() -> None:
    def both(a: Tensor, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        return a @ a, F.conv2d(x, w)

    inputs = [randn(8, 8), randn(1, 1, 4, 4), randn(1, 1, 2, 2)]
    product, convolution = 1024, 2 * 9 * 4
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = False, True
    evidence = floor(both, *inputs)
    assert (evidence.tf32_allowed, evidence.tf32_flop) == (True, convolution)
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = True, False
    assert floor(both, *inputs).tf32_flop == product
    torch.backends.cuda.matmul.allow_tf32 = False
    evidence = floor(both, *inputs)
    assert (evidence.tf32_allowed, evidence.tf32_flop) == (False, 0)
    assert evidence.flop == {"fp32": product + convolution}


@pytest.mark.usefixtures("_precision_kept")
def test_tf32_counts_where_the_reference_sets_it_inside_its_call() -> None:
    def inside(a: Tensor) -> Tensor:
        torch.backends.cuda.matmul.allow_tf32 = True
        result = a @ a
        torch.backends.cuda.matmul.allow_tf32 = False
        return result

    evidence = floor(inside, randn(8, 8))
    assert (evidence.tf32_allowed, evidence.tf32_flop) == (True, 1024)


@pytest.mark.usefixtures("_precision_kept")
@pytest.mark.skipif(
    not hasattr(torch.backends.cuda.matmul, "fp32_precision"),
    reason=f"needs torch 2.9's fp32_precision; this is {torch.__version__}",
)
def test_the_newer_interface_answers_where_the_older_one_raises() -> None:
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    with pytest.raises(RuntimeError):
        bool(torch.backends.cuda.matmul.allow_tf32)
    assert matmul_may_use_tf32()
    assert floor(torch.matmul, randn(8, 8), randn(8, 8)).tf32_flop == 1024
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    assert not matmul_may_use_tf32()
    assert convolution_may_use_tf32() == torch.backends.cudnn.allow_tf32
