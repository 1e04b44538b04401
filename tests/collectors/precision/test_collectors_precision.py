"""The precision trials on the CPU, with real models: what each trial holds, and how the evidence of them grows."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from precision_runs import Softmax, codes, passes, run, vectors, workload
from torch import Tensor, nn

from kprof.collectors.precision.collect import SideError, collect_precision
from kprof.collectors.precision.poison import CPU_METHOD
from kprof.precision_evidence import PrecisionEvidence


class Zeros(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


class OwnSoftmax(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        powers = torch.exp(x - x.amax(-1, keepdim=True))
        return powers / powers.sum(-1, keepdim=True)


def zero_linear() -> nn.Linear:
    model = nn.Linear(5, 5)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    return model


def test_zeros_for_a_softmax_over_many_columns_fail() -> None:
    """Case 36, first."""
    evidence = run(Zeros(), Softmax(), lambda: [torch.randn(2, 65536)], trials=2)
    assert codes(evidence) == [["value_mismatch"], ["value_mismatch"]]
    assert evidence.weights == "none"


def test_zeros_for_a_zero_reference_are_vacuous() -> None:
    """Case 36, second."""
    evidence = run(Zeros(), zero_linear())
    assert codes(evidence) == [[], [], []]
    assert all("zeros" in trial.vacuous_controls for trial in evidence.trials)


def test_an_honest_kernel_passes() -> None:
    """Case 36, third."""
    evidence = run(OwnSoftmax(), Softmax(), lambda: [torch.randn(2, 65536)])
    assert passes(evidence)
    assert [trial.vacuous_controls for trial in evidence.trials] == [(), (), ()]
    assert [trial.seed for trial in evidence.trials] == [7, 8, 9]
    assert [trial.deterministic for trial in evidence.trials] == [True, True, True]
    assert evidence.trials[0].shapes == ((2, 65536),)
    assert evidence.kernel_error_vs_fp64 is not None
    assert evidence.ref_error_vs_fp64 is not None
    assert 0.0 < evidence.kernel_error_vs_fp64 < 1e-6
    assert 0.0 < evidence.ref_error_vs_fp64 < 1e-6
    assert evidence.fp64_reason is None
    assert evidence.poisoned == CPU_METHOD


def test_evidence_grows_by_a_trial_and_outlives_a_later_failure() -> None:
    class FailsLater(nn.Module):
        calls = 0

        def forward(self, x: Tensor) -> Tensor:
            self.calls += 1
            if self.calls > 4:
                raise ZeroDivisionError("call 5")
            return x * 2

    collected: list[PrecisionEvidence] = []
    loaded = workload(FailsLater(), lambda x: x * 2, vectors)
    with pytest.raises(SideError) as caught:
        collected.extend(collect_precision(loaded, trials=5, seed=0, enter=lambda _: None))
    assert caught.value.side == "kernel"
    assert isinstance(caught.value.error, ZeroDivisionError)
    assert str(caught.value) == "kernel: ZeroDivisionError: call 5"
    assert [len(evidence.trials) for evidence in collected] == [1, 2]
    assert [(one.trials_run, one.trials_agreed) for one in collected] == [(1, 1), (2, 2)]
    assert collected[-1].trials_requested == 5


def test_what_was_measured_is_handed_out_before_the_next_trial_starts() -> None:
    calls: list[int] = []

    def kernel(x: Tensor) -> Tensor:
        calls.append(1)
        return x + 1

    trials = collect_precision(workload(kernel, lambda x: x + 1, vectors), trials=3, seed=0, enter=lambda _: None)
    assert len(next(trials).trials) == 1
    assert len(calls) == 2
    assert len(next(trials).trials) == 2
    assert len(calls) == 4


def test_nested_and_non_contiguous_outputs_pass() -> None:
    """Case 38."""

    def ref(x: Tensor) -> dict[str, Any]:
        return {"pair": (x * 2, x > 0), "order": [x.argsort(-1)]}

    def kernel(x: Tensor) -> dict[str, Any]:
        return {"pair": ((x * 2).t().contiguous().t(), x > 0), "order": [x.argsort(-1)]}

    evidence = run(kernel, ref)
    assert passes(evidence)
    assert "strides_differ" in [note.code for note in evidence.trials[0].notes]
    assert evidence.trials[0].elements == 90


def test_all_nan_on_both_sides_is_no_pass_unless_allowed() -> None:
    """Case 38."""

    def undefined(x: Tensor) -> Tensor:
        return torch.full_like(x, float("nan"))

    assert codes(run(undefined, undefined, trials=1)) == [["nan_equals_nan"]]
    assert passes(run(undefined, undefined, trials=1, allow_nonfinite=True))


def test_both_sides_draw_the_same_random_numbers() -> None:
    def noise(x: Tensor) -> Tensor:
        return x + torch.rand_like(x) + random.random() + np.random.rand()

    evidence = run(noise, noise)
    assert passes(evidence)
    assert evidence.trials[0].deterministic is True
    assert evidence.fp64_reason is not None
    assert evidence.fp64_reason.code == "fp64_reference_random"


def test_an_unsteady_kernel_within_tolerance_passes_and_is_not_deterministic() -> None:
    calls: list[int] = []

    def kernel(x: Tensor) -> Tensor:
        calls.append(1)
        return x * (2 + 1e-6 * (len(calls) % 2))

    evidence = run(kernel, lambda x: x * 2)
    assert passes(evidence)
    assert [trial.deterministic for trial in evidence.trials] == [False] * 3


@pytest.mark.parametrize("chunk", [1, 7])
def test_small_chunks_change_nothing(chunk: int) -> None:
    """Case 44."""
    whole = run(lambda x: x * 2.001, lambda x: x * 2)
    pieces = run(lambda x: x * 2.001, lambda x: x * 2, chunk_elements=chunk)
    for one, other in zip(whole.trials, pieces.trials, strict=True):
        assert one.worst_index == other.worst_index
        assert one.max_abs_error == other.max_abs_error
        assert one.mismatched_elements == other.mismatched_elements
    assert whole.kernel_error_vs_fp64 == pieces.kernel_error_vs_fp64


def test_no_gradients_are_recorded() -> None:
    modes: list[bool] = []

    def kernel(x: Tensor) -> Tensor:
        modes.append(torch.is_grad_enabled())
        return x * 2

    run(kernel, lambda x: x * 2, trials=1)
    assert modes == [False, False]


def test_evidence_of_many_trials_stays_small() -> None:
    calls: list[int] = []

    def kernel(x: Tensor) -> Tensor:
        calls.append(1)
        return x * 3 if len(calls) in (25, 26) else x * 2

    loaded = workload(kernel, lambda x: x * 2, lambda: [torch.randn(2)])
    collected = list(collect_precision(loaded, trials=300, seed=0, enter=lambda _: None))
    runs = [evidence.trials_run or 0 for evidence in collected]
    # Each of the first ten, the first failure (trial 13), half as many again each time, the end.
    assert runs[:11] == [*range(1, 11), 13]
    assert len(runs) < 25
    last = collected[-1]
    assert (last.trials_run, last.trials_agreed, last.trials_requested) == (300, 299, 300)
    assert len(last.trials) <= 200
    assert [trial.seed for trial in last.trials if trial.mismatches] == [12]
    assert last.left_out is not None
    assert last.left_out.elements + sum(trial.elements for trial in last.trials) == 600
