"""Precision trials of models that keep weights and buffers."""

from __future__ import annotations

import torch
from precision_runs import Plain, codes, passes, run
from torch import Tensor, nn


class Noisy(nn.Module):
    """The same layer with another initialiser: the same seed gives other weights."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(5, 5)
        nn.init.normal_(self.linear.weight)

    def forward(self, x: Tensor) -> Tensor:
        return torch.nn.functional.linear(x, self.linear.weight, self.linear.bias)


def test_weights_of_another_initialiser_are_copied_by_name() -> None:
    """Case 42."""
    evidence = run(Noisy(), Plain())
    assert evidence.weights == "copied_by_name"
    assert passes(evidence)


def test_equal_weights_are_compared_as_constructed() -> None:
    kernel, ref = Plain(), Plain()
    kernel.load_state_dict(ref.state_dict())
    evidence = run(kernel, ref)
    assert evidence.weights == "as_constructed"
    assert passes(evidence)


def test_a_wrong_kernel_with_equal_weights_is_wrong() -> None:
    """Case 42: the difference is the kernel's own."""

    class Doubles(Plain):
        def forward(self, x: Tensor) -> Tensor:
            return 2 * super().forward(x)

    kernel, ref = Doubles(), Plain()
    kernel.load_state_dict(ref.state_dict())
    evidence = run(kernel, ref)
    assert evidence.weights == "as_constructed"
    assert codes(evidence) == [["value_mismatch"]] * 3
    evidence = run(Doubles(), Plain())
    assert evidence.weights == "copied_by_name"
    assert codes(evidence) == [["value_mismatch"]] * 3


def test_weights_copied_by_shape_carry_a_warning() -> None:
    class Renamed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w, self.b = nn.Parameter(torch.zeros(5, 5)), nn.Parameter(torch.zeros(5))

        def forward(self, x: Tensor) -> Tensor:
            return x @ self.w.t() + self.b

    evidence = run(Renamed(), Plain())
    assert evidence.weights == "copied_by_shape"
    assert [warning.code for warning in evidence.warnings] == ["weights_copied_by_shape"]
    assert passes(evidence)


def test_weights_that_cannot_be_copied_end_the_trials() -> None:
    """Case 42: not comparable is not incorrect."""

    class Fused(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.packed = nn.Parameter(torch.randn(30))

        def forward(self, x: Tensor) -> Tensor:
            return x @ self.packed[:25].view(5, 5) + self.packed[25:]

    evidence = run(Fused(), Plain())
    assert evidence.weights == "not_comparable"
    assert len(evidence.trials) == 1
    assert [warning.code for warning in evidence.warnings] == ["weights_not_comparable"]


def test_buffers_are_restored_before_every_call() -> None:
    """Case 42: a step counter or a cache in a buffer does not carry over, on either side."""

    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("steps", torch.zeros(()))

        def forward(self, x: Tensor) -> Tensor:
            self.steps += 1
            return x * self.steps

    kernel, ref = Counts(), Counts()
    evidence = run(kernel, ref)
    assert passes(evidence)
    assert evidence.trials[2].max_abs_error == 0.0
    assert evidence.kernel_error_vs_fp64 == 0.0
    assert float(ref.steps) == 1.0
