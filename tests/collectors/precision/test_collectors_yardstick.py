"""The reference in float64: errors of both sides, a tolerance that follows them, reasons where there is no such run."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from precision_runs import Plain, codes, passes, run
from torch import Tensor, nn


def test_a_kernel_more_exact_than_a_low_precision_reference_passes() -> None:
    """Case 43: the reference rounds to bf16 at every step, the kernel once."""

    def steps(x: Tensor) -> Tensor:
        total = torch.zeros_like(x[:, 0])
        for column in range(x.shape[1]):
            total = total + x[:, column]
        return total

    def kernel(x: Tensor) -> Tensor:
        return x.double().sum(1).to(x.dtype)

    evidence = run(kernel, steps, lambda: [torch.randn(64, 4096).bfloat16() + 0.5])
    assert passes(evidence)
    assert evidence.ref_error_vs_fp64 is not None
    assert evidence.kernel_error_vs_fp64 is not None
    assert evidence.kernel_error_vs_fp64 < evidence.ref_error_vs_fp64
    (tolerance,) = evidence.trials[2].tolerances
    assert tolerance.atol == pytest.approx(2 * evidence.ref_error_vs_fp64)
    assert tolerance.atol > 2e-2 * tolerance.scale
    assert "tolerance_widened" in [note.code for note in evidence.trials[2].notes]


def test_a_kernel_less_exact_than_the_reference_gets_no_wider_tolerance() -> None:
    def coarse(x: Tensor) -> Tensor:
        return (x.bfloat16() @ x.bfloat16().t()).float()

    evidence = run(coarse, lambda x: x @ x.t(), lambda: [torch.randn(32, 64)])
    assert codes(evidence) == [["value_mismatch"]] * 3
    assert evidence.ref_error_vs_fp64 is not None
    assert evidence.kernel_error_vs_fp64 is not None
    assert evidence.kernel_error_vs_fp64 > 100 * evidence.ref_error_vs_fp64


def test_the_errors_against_float64_are_those_of_a_hand_computed_run() -> None:
    third = nn.Linear(1, 1, bias=False)
    nn.init.constant_(third.weight, 1 / 3)
    evidence = run(lambda x: x / 3 + 0.25, third, lambda: [torch.ones(1, 1)], trials=1)
    # The weight in float64 is the float32 third: the reference is exact against its own float64 run.
    assert evidence.ref_error_vs_fp64 == 0.0
    assert evidence.kernel_error_vs_fp64 == pytest.approx(0.25, rel=1e-6)
    assert third.weight.dtype == torch.float32


def fixed_type(x: Tensor) -> Tensor:
    return x @ torch.ones(5, 5, dtype=torch.float32)


def single_inside(x: Tensor) -> Tensor:
    return x.float().softmax(-1).to(x.dtype)


def halves(x: Tensor) -> Tensor:
    return x.half()


@pytest.mark.parametrize(
    ("ref", "code"),
    [
        (fixed_type, "fp64_reference_failed"),
        (single_inside, "fp64_reference_casts_down"),
        (halves, "fp64_reference_casts_down"),
        (lambda x: torch.nn.functional.dropout(x), "fp64_reference_random"),
        (lambda x: x.argsort(-1), "no_floating_output"),
        (lambda x: x * 2 if x.dtype is torch.float32 else (x, x), "fp64_reference_differs"),
        (lambda x: x * float("nan"), "no_finite_elements"),
    ],
)
def test_a_float64_run_that_is_none_has_its_reason(ref: Any, code: str) -> None:
    evidence = run(ref, ref, trials=1)
    assert evidence.kernel_error_vs_fp64 is None
    assert evidence.ref_error_vs_fp64 is None
    assert evidence.fp64_reason is not None
    assert evidence.fp64_reason.code == code
    assert torch.get_default_dtype() == torch.float32


def test_a_float64_run_out_of_memory_has_its_reason() -> None:
    """Case 44: it costs the yardstick, not the trial."""

    def ref(x: Tensor) -> Tensor:
        if x.dtype is torch.float64:
            torch.empty(2**58)
        return x * 2

    evidence = run(lambda x: x + x, ref)
    assert passes(evidence)
    assert evidence.fp64_reason is not None
    assert evidence.fp64_reason.code == "fp64_out_of_memory"


def test_a_mismatching_structure_leaves_the_kernel_without_a_yardstick() -> None:
    evidence = run(lambda x: x[:1], lambda x: x * 2, trials=1)
    assert evidence.kernel_error_vs_fp64 is None
    assert evidence.ref_error_vs_fp64 == 0.0
    assert evidence.fp64_reason is not None
    assert evidence.fp64_reason.code == "kernel_output_differs"


def test_a_compiled_reference_has_its_yardstick() -> None:
    compiled = torch.compile(Plain(), backend="eager")
    kernel = Plain()
    kernel.load_state_dict({name.removeprefix("_orig_mod."): tensor for name, tensor in compiled.state_dict().items()})
    evidence = run(kernel, compiled, trials=1)
    assert passes(evidence)
    assert evidence.fp64_reason is None
    assert evidence.ref_error_vs_fp64 is not None


def test_a_mask_that_follows_the_type_is_no_error_of_the_reference() -> None:
    def masked(x: Tensor) -> Tensor:
        scores = x @ x.T
        return scores.masked_fill(scores < 0, torch.finfo(scores.dtype).min)

    evidence = run(masked, masked, lambda: [torch.randn(32, 16)])
    assert passes(evidence)
    assert evidence.fp64_reason is not None
    assert evidence.fp64_reason.code == "fp64_reference_differs"
    (tolerance,) = evidence.trials[0].tolerances
    assert tolerance.atol < 1e-2


def test_scores_behind_a_mask_are_compared() -> None:
    def masked(x: Tensor) -> Tensor:
        return (x @ x.T).masked_fill(x[:, :1] < 0, -1e9)

    def only_mask(x: Tensor) -> Tensor:
        return torch.where(x[:, :1] < 0, -1e9, 0.0).expand(len(x), len(x)).contiguous()

    assert not passes(run(only_mask, masked, lambda: [torch.randn(32, 16)]))
    assert passes(run(masked, masked, lambda: [torch.randn(32, 16)]))


def test_rounding_noise_below_exact_ones_is_not_the_scale() -> None:
    """Products of an orthogonal matrix with itself: ones, and noise that another order of summation changes."""

    def gram(x: Tensor) -> Tensor:
        return x @ x.T

    def parts(x: Tensor) -> Tensor:
        return sum((x[:, k : k + 1] * x[:, k] for k in range(x.shape[1])), torch.zeros(()))

    evidence = run(parts, gram, lambda: [torch.linalg.qr(torch.randn(64, 64))[0]])
    assert passes(evidence)
