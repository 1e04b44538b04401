"""Inputs of the precision trials: of every kind and layout, and what a side writes to them."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from precision_runs import codes, passes, run
from torch import Tensor


def test_jittering_shapes_are_recorded() -> None:
    evidence = run(lambda x: x + x, lambda x: x * 2, lambda: [torch.randn(int(torch.randint(2, 50, ())), 3)])
    assert passes(evidence)
    assert len({trial.shapes for trial in evidence.trials}) > 1


def test_inputs_may_be_views_and_nested() -> None:
    def make() -> list[Any]:
        base = torch.randn(8, 8)
        return [{"a": base[:, ::2], "b": base[:1].expand(8, 8)}, (base, 3)]

    def ref(tables: dict[str, Tensor], rest: tuple[Tensor, int]) -> Tensor:
        return tables["a"].sum() + tables["b"] * rest[1] + rest[0]

    assert passes(run(ref, ref, make))


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
