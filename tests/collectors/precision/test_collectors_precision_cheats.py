"""Kernels whose results only look right; each is one that people have met."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
from precision_runs import Softmax, codes, passes, run, vectors
from torch import Tensor, nn


def test_mutated_inputs_do_not_reach_the_reference() -> None:
    """Case 37 (a)."""

    def wipes(x: Tensor) -> Tensor:
        x.zero_()
        return torch.zeros_like(x)

    assert codes(run(wipes, lambda x: x * 2)) == [["value_mismatch"]] * 3


def test_a_result_cached_by_shape_fails_on_fresh_values() -> None:
    """Case 37 (c)."""
    cache: dict[Any, Tensor] = {}

    def kernel(x: Tensor) -> Tensor:
        return cache.setdefault(x.shape, x * 2)

    assert codes(run(kernel, lambda x: x * 2)) == [[], ["value_mismatch"], ["value_mismatch"]]


def test_returning_the_input_fails() -> None:
    """Case 37 (e)."""
    assert codes(run(lambda x: x, lambda x: x * 2)) == [["value_mismatch"]] * 3
    evidence = run(lambda x: x, lambda x: x + 0)
    assert passes(evidence)
    assert evidence.trials[0].vacuous_controls == ("input",)


def test_a_right_first_call_and_garbage_after_it_has_its_own_code() -> None:
    """Case 37 (f)."""

    class Once(nn.Module):
        calls = 0

        def forward(self, x: Tensor) -> Tensor:
            self.calls += 1
            return x * 2 if self.calls == 1 else x * 3

    evidence = run(Once(), lambda x: x * 2, trials=2)
    assert codes(evidence) == [["second_call_differs", "value_mismatch"], ["value_mismatch"]]
    first = evidence.trials[0]
    assert first.deterministic is False
    assert first.mismatched_elements == 30
    assert first.max_abs_error is not None
    assert first.max_abs_error > 1.0
    assert "the first call agreed" in first.mismatches[0].message


def test_the_references_result_does_not_reach_the_kernel() -> None:
    """Case 37 (g): the first call has nothing to hand back yet, later trials have something old."""
    shared: dict[str, Tensor] = {}

    def ref(x: Tensor) -> Tensor:
        shared["out"] = x * 2
        return shared["out"]

    assert codes(run(lambda x: shared.get("out", x), ref)) == [["value_mismatch"]] * 3


def test_a_buffer_written_after_the_call_is_seen_as_it_was() -> None:
    """The kernel keeps its output and the reference fills it: what counts is what it held when the kernel returned."""
    kept: list[Tensor] = []

    def kernel(x: Tensor) -> Tensor:
        kept.append(torch.zeros_like(x))
        return kept[-1]

    def ref(x: Tensor) -> Tensor:
        if kept:
            kept[-1].copy_(x * 2)
        return x * 2

    assert codes(run(kernel, ref)) == [["value_mismatch"]] * 3


def test_one_output_buffer_for_every_call_is_fine() -> None:
    kept = torch.empty(6, 5)
    evidence = run(lambda x: torch.mul(x, 2, out=kept), lambda x: x * 2)
    assert passes(evidence)
    assert evidence.trials[0].deterministic is True


def test_a_lazy_subclass_is_refused_untouched() -> None:
    """Case 38."""
    touched: list[str] = []

    class Lazy(Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            touched.append(str(func))
            return NotImplemented

    def kernel(x: Tensor) -> Tensor:
        result = torch.empty(0).as_subclass(Lazy)
        touched.clear()
        return result

    evidence = run(kernel, lambda x: x * 2, trials=1)
    assert codes(evidence) == [["not_a_plain_tensor"]]
    assert evidence.trials[0].deterministic is None
    assert touched == []


@pytest.mark.parametrize(
    ("kernel", "code"),
    [
        (lambda x: x[:, :1], "shape_mismatch"),
        (lambda x: x.half(), "dtype_mismatch"),
        (lambda x: (x,), "structure_mismatch"),
        (lambda x: None, "none_for_tensor"),
        (lambda x: 1.0, "number_for_tensor"),
        (lambda x: x.numpy(), "array_for_tensor"),
        (lambda x: x[:0], "empty_output"),
        (lambda x: x * float("nan"), "nonfinite_mismatch"),
    ],
)
def test_outputs_that_only_look_right(kernel: Any, code: str) -> None:
    """Case 38; each with its own reason, in every trial."""
    assert codes(run(kernel, lambda x: x + 0, trials=2)) == [[code], [code]]


@pytest.mark.parametrize("name", ["abs", "sub", "__sub__", "isfinite"])
def test_a_replaced_method_of_torchs_does_not_judge(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that has every difference come out as zero."""

    def nothing(self: Tensor, *_: Any, **__: Any) -> Tensor:
        return torch.zeros(self.shape, dtype=self.dtype)

    def kernel(x: Tensor) -> Tensor:
        monkeypatch.setattr(Tensor, name, nothing)
        monkeypatch.setattr(torch, "where", lambda *_: torch.zeros(30, dtype=torch.float64))
        return torch.zeros_like(x)

    evidence = run(kernel, lambda x: x * 2, trials=2)
    assert getattr(Tensor, name) is nothing
    monkeypatch.undo()
    assert codes(evidence) == [["value_mismatch"], ["value_mismatch"]]
    assert [warning.code for warning in evidence.warnings] == ["torch_replaced"]
    assert f"torch.Tensor.{name}, torch.where" in evidence.warnings[0].message


def test_what_torchs_compiler_wraps_of_torch_nobody_replaced() -> None:
    def kernel(x: Tensor) -> Tensor:
        importlib.import_module("torch._dynamo")  # wraps torch.manual_seed

        return x * 2

    evidence = run(kernel, lambda x: x * 2, trials=2)
    assert passes(evidence)
    assert evidence.warnings == ()


def test_an_output_on_the_meta_device_is_wrong() -> None:
    evidence = run(lambda x: torch.empty_like(x, device="meta"), Softmax(), vectors)
    assert codes(evidence) == [["device_mismatch"]] * 3


def test_an_output_that_holds_itself_is_wrong() -> None:
    def cycle(_: Tensor) -> Any:
        found: list[Any] = []
        found.append(found)
        return found

    assert codes(run(cycle, Softmax(), vectors)) == [["structure_mismatch"]] * 3
