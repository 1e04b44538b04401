"""The precision trials on the CPU, with real models; each input is one that people have met."""

from __future__ import annotations

import importlib
import random
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from precision_runs import codes, passes, run, vectors, workload
from torch import Tensor, nn

from kprof.collectors.precision.collect import SideError, collect_precision
from kprof.collectors.precision.poison import CPU_METHOD
from kprof.evidence import Side
from kprof.precision_evidence import PrecisionEvidence


class Zeros(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


class Softmax(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x, dim=-1)


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


def test_a_failing_reference_is_the_references_failure() -> None:
    """Case 38: its own status, not the kernel's."""

    def broken(x: Tensor) -> Tensor:
        raise ValueError("no such mode")

    entered: list[Side] = []
    with pytest.raises(SideError) as caught:
        run(lambda x: x, broken, entered=entered)
    assert caught.value.side == "ref"
    assert isinstance(caught.value.error, ValueError)
    assert entered[-1] == "ref"


def test_an_exit_from_user_code_is_that_sides_failure() -> None:
    def leaves(x: Tensor) -> Tensor:
        raise SystemExit(0)

    with pytest.raises(SideError) as caught:
        run(leaves, lambda x: x)
    assert caught.value.side == "kernel"


def test_sides_are_entered_in_order() -> None:
    entered: list[Side | None] = []
    run(lambda x: x * 2, lambda x: x + x, trials=2, entered=entered)
    # Inputs, kernel, float64 yardstick, reference, kernel; later trials have no yardstick. Between them it is kprof.
    sides = ["ref", "kernel", "ref", "ref", "kernel", "ref", "kernel", "ref", "kernel"]
    assert entered[::2] == sides
    assert entered[1::2] == [None] * len(sides)


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


def test_out_of_memory_in_a_side_is_that_sides() -> None:
    """Case 44: the side that ran out is named."""

    def huge(x: Tensor) -> Tensor:
        return torch.empty(2**58)

    with pytest.raises(SideError) as caught:
        run(huge, lambda x: x)
    assert caught.value.side == "kernel"
    assert "can't allocate memory" in str(caught.value.error)


def test_jittering_shapes_are_recorded() -> None:
    evidence = run(lambda x: x + x, lambda x: x * 2, lambda: [torch.randn(int(torch.randint(2, 50, ())), 3)])
    assert passes(evidence)
    assert len({trial.shapes for trial in evidence.trials}) > 1


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


def test_inputs_may_be_views_and_nested() -> None:
    def make() -> list[Any]:
        base = torch.randn(8, 8)
        return [{"a": base[:, ::2], "b": base[:1].expand(8, 8)}, (base, 3)]

    def ref(tables: dict[str, Tensor], rest: tuple[Tensor, int]) -> Tensor:
        return tables["a"].sum() + tables["b"] * rest[1] + rest[0]

    assert passes(run(ref, ref, make))


def test_no_gradients_are_recorded() -> None:
    modes: list[bool] = []

    def kernel(x: Tensor) -> Tensor:
        modes.append(torch.is_grad_enabled())
        return x * 2

    run(kernel, lambda x: x * 2, trials=1)
    assert modes == [False, False]


def test_without_a_reference_there_is_nothing_to_do() -> None:
    with pytest.raises(ValueError, match="needs a reference"):
        next(collect_precision(workload(lambda x: x, None, vectors), trials=1, seed=0, enter=lambda _: None))


def test_a_model_that_returns_nothing_is_not_judged() -> None:
    """Both work in place, the kernel wrongly: without a result there is no saying so."""

    def ref(x: Tensor) -> None:
        x.relu_()

    def kernel(x: Tensor) -> None:
        x.zero_()

    evidence = run(kernel, ref, trials=1)
    assert codes(evidence) == [["nothing_to_compare"]]
    assert evidence.trials[0].deterministic is True
    assert [warning.code for warning in evidence.warnings] == ["kernel_modifies_inputs", "ref_modifies_inputs"]


def test_an_overwritten_input_is_a_warning() -> None:
    def in_place(x: Tensor) -> Tensor:
        x.copy_(x * 2)
        return x

    evidence = run(in_place, lambda x: x * 2)
    assert passes(evidence)
    assert [warning.code for warning in evidence.warnings] == ["kernel_modifies_inputs"]
    assert "overwrites its inputs ([0])" in evidence.warnings[0].message
    assert "in the timing runs later calls see what earlier ones wrote" in evidence.warnings[0].message
    assert "output_aliases_input" in [note.code for note in evidence.trials[0].notes]
    # The reference does the same to its own: only that is to be said.
    both = run(in_place, lambda x: x.mul_(2))
    assert [warning.code for warning in both.warnings] == ["ref_modifies_inputs"]
    assert "output_aliases_input" not in [note.code for note in both.trials[0].notes]
    assert run(lambda x: x * 2, lambda x: x + x).warnings == ()


def test_one_of_several_inputs_is_named() -> None:
    def kernel(pair: dict[str, Tensor], rest: Tensor) -> Tensor:
        result = pair["a"] + rest
        pair["a"].resize_(1)
        return result

    evidence = run(kernel, lambda pair, rest: pair["a"] + rest, lambda: [{"a": torch.randn(4)}, torch.randn(4)])
    assert passes(evidence)
    assert "([0]['a'])" in evidence.warnings[0].message


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


def test_sparse_nested_and_quantized_inputs_and_outputs_do_not_crash() -> None:
    sparse = run(lambda x: torch.sparse.mm(x, torch.eye(8)), lambda x: x.to_dense(), lambda: [torch.eye(8).to_sparse()])
    assert codes(sparse) == [[], [], []]
    assert sparse.trials[0].shapes == ((8, 8),)
    assert passes(run(lambda x: x * 2, lambda x: x + x, lambda: [torch.eye(8).to_sparse()]))
    with warnings.catch_warnings():
        # Torch calls nested tensors a prototype and quantized ones deprecated.
        warnings.simplefilter("ignore")
        for layout in (torch.strided, torch.jagged):
            nested = run(
                lambda x: x.unbind()[0] * 2,
                lambda x: x.unbind()[0] + x.unbind()[0],
                lambda layout=layout: [torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=layout)],
            )
            assert passes(nested)
            assert nested.trials[0].shapes == ((2,),)
        quantized = run(
            lambda x: x.int_repr(),
            lambda x: x.int_repr() + 0,
            lambda: [torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)],
        )
        assert passes(quantized)
        inside = run(
            lambda x: x * 2, lambda x: x * 2, lambda: [torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])]
        )
        assert codes(inside) == [["unsupported_output"]] * 3


def test_an_error_whose_text_cannot_be_read_is_that_sides_all_the_same() -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise ValueError("never")

    def kernel(x: Tensor) -> Tensor:
        raise SilentError

    with pytest.raises(SideError) as caught:
        run(kernel, lambda x: x)
    assert str(caught.value) == "kernel: SilentError: (its message cannot be read)"


def test_an_output_on_the_meta_device_is_wrong() -> None:
    evidence = run(lambda x: torch.empty_like(x, device="meta"), Softmax(), vectors)
    assert codes(evidence) == [["device_mismatch"]] * 3


def test_an_output_that_holds_itself_is_wrong() -> None:
    def cycle(_: Tensor) -> Any:
        found: list[Any] = []
        found.append(found)
        return found

    assert codes(run(cycle, Softmax(), vectors)) == [["structure_mismatch"]] * 3
