"""What counts as equal: roundings of the type pass, cheaper types do not, and outliers loosen nothing."""

from __future__ import annotations

import math

import pytest
import torch
from compared_outputs import REF, codes, values
from torch import Tensor

from kprof.collectors.precision.comparison import compare_trees
from kprof.collectors.precision.tolerances import TOLERANCES


def test_error_is_over_max_of_ref_and_atol() -> None:
    ref = torch.tensor([1.0, 0.0])
    comparison = compare_trees(torch.tensor([1.0, 1e-3]), ref)
    atol = comparison.tolerances[0].atol
    assert atol == pytest.approx(1e-4 * math.sqrt(0.5))
    assert comparison.max_rel_error == pytest.approx(1e-3 / atol, rel=1e-6)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]
)
def test_one_unit_in_the_last_place_never_fails(dtype: torch.dtype) -> None:
    """Case 43: an atol below one ulp flakes; true at the scale of 1, far from it, and among subnormals."""
    for scale in (1.0, 100.0, 2e-5):
        ref = (values(2000) * scale).to(dtype)
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[ref.element_size()]
        neighbour = (ref.view(bits) + 1).view(dtype)
        usable = torch.isfinite(neighbour.float()) & torch.isfinite(ref.float())
        kernel = torch.where(usable, neighbour.float(), ref.float()).to(dtype)
        assert codes(compare_trees(kernel, ref)) == [], scale


def test_cancellation_does_not_fail_a_right_kernel() -> None:
    """Case 43: a pure rtol fails where the result is small by cancellation."""
    a, b = values(64, 512), values(512, 64, seed=1)
    exact = (a.double() @ b.double()).float()
    kernel = torch.stack([a[:, i::4] @ b[i::4] for i in range(4)]).sum(0)
    worst_relative = ((kernel - exact).abs() / exact.abs()).max()
    assert worst_relative > 1e-4
    assert codes(compare_trees(kernel, exact)) == []


def tf32(x: Tensor) -> Tensor:
    """Round fp32 to TF32's ten mantissa bits."""
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


@pytest.mark.parametrize("depth", [16, 256, 4096])
def test_tf32_fails_under_an_fp32_contract(depth: int) -> None:
    """Case 43: the cheaper type does not pass for the dearer one, at any depth of the product."""
    a, b = values(64, depth), values(depth, 64, seed=1)
    assert codes(compare_trees(a @ b, (a.double() @ b.double()).float())) == []
    assert codes(compare_trees(tf32(a) @ tf32(b), a @ b)) == ["value_mismatch"]
    assert codes(compare_trees((a.half() @ b.half()).float(), a @ b)) == ["value_mismatch"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_products_pass(dtype: torch.dtype) -> None:
    a, b = values(64, 1024, dtype=dtype), values(1024, 64, dtype=dtype, seed=1)
    assert codes(compare_trees((a.float() @ b.float()).to(dtype), a @ b)) == []


def masked(fill: float, share: float) -> Tensor:
    return values(64, 64).masked_fill(torch.rand(64, 64, generator=torch.manual_seed(1)) < share, fill)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("fill", [-1e4, -1e9, torch.finfo(torch.float32).min, 1e9])
def test_a_masking_value_does_not_loosen_the_tolerance(fill: float, share: float) -> None:
    """Only the mask is right here: the scores are never computed."""
    ref = masked(fill, share)
    only_mask = torch.where(ref == fill, ref, 0.0)
    assert codes(compare_trees(only_mask, ref)) == ["value_mismatch"]
    honest = compare_trees(ref * (1 - 1e-6), ref)
    assert (codes(honest), honest.vacuous_controls) == ([], ())
    assert 1e-5 < honest.tolerances[0].atol < 1e-3
    pieces = compare_trees(ref, ref, chunk_elements=100)
    assert pieces.tolerances[0].scale == pytest.approx(honest.tolerances[0].scale, rel=1e-12)


def test_a_score_added_to_the_masking_value_is_one_too() -> None:
    scores, mask = values(64, 64), masked(-1e9, 0.7) == -1e9
    ref = scores - 1e9 * mask
    assert codes(compare_trees(torch.where(mask, ref, 0.0), ref)) == ["value_mismatch"]


def test_the_far_end_of_a_heavy_tail_does_not_loosen_the_tolerance() -> None:
    ref = torch.exp(6 * values(64, 64))
    assert codes(compare_trees(torch.where(ref > 2000, ref, 0.0), ref)) == ["value_mismatch"]
    assert codes(compare_trees(ref * (1 + 1e-6), ref)) == []


def test_the_scale_of_ordinary_values_is_their_root_mean_square() -> None:
    for ref in (values(64, 64), values(64, 64).exp(), values(64, 64).relu(), torch.eye(64)):
        scale = compare_trees(ref, ref).tolerances[0].scale
        assert scale == pytest.approx(float(ref.double().square().mean().sqrt()), rel=1e-12)


def test_dust_that_rounding_leaves_is_not_the_scale() -> None:
    ref = torch.ones(64, 64)
    ref[0, :8] = 1e-9
    assert compare_trees(ref, ref).tolerances[0].scale == pytest.approx(1.0, rel=1e-2)


def test_huge_and_tiny_values_have_a_scale() -> None:
    for size in (1e200, 1e-200):
        ref = torch.full((4,), size, dtype=torch.float64)
        comparison = compare_trees(ref * (1 + 1e-6), ref)
        assert comparison.tolerances[0].scale == pytest.approx(size)
        assert codes(comparison) == ["value_mismatch"]
    most = torch.full((4,), torch.finfo(torch.float64).max, dtype=torch.float64)
    assert compare_trees(-most, most).max_abs_error == torch.finfo(torch.float64).max


def test_a_widened_tolerance_is_recorded() -> None:
    kernel = REF + 0.01
    comparison = compare_trees(kernel, REF, widened={"out": 0.02})
    assert codes(comparison) == []
    assert comparison.tolerances[0].atol == 0.02


def test_every_factor_is_above_its_types_rounding() -> None:
    for dtype, row in TOLERANCES.items():
        real = {torch.complex64: torch.float32, torch.complex128: torch.float64, torch.complex32: torch.float16}
        assert row.factor > torch.finfo(real.get(dtype, dtype)).eps
        assert row.floor > 0.0
