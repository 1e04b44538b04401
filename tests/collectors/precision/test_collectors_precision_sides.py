"""Whose code runs in the precision trials, and whose a failure is."""

from __future__ import annotations

import pytest
import torch
from precision_runs import run, vectors, workload
from torch import Tensor

from kprof.collectors.precision.collect import SideError, collect_precision
from kprof.evidence import Side


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


def test_out_of_memory_in_a_side_is_that_sides() -> None:
    """Case 44: the side that ran out is named."""

    def huge(x: Tensor) -> Tensor:
        return torch.empty(2**58)

    with pytest.raises(SideError) as caught:
        run(huge, lambda x: x)
    assert caught.value.side == "kernel"
    assert "can't allocate memory" in str(caught.value.error)


def test_without_a_reference_there_is_nothing_to_do() -> None:
    with pytest.raises(ValueError, match="needs a reference"):
        next(collect_precision(workload(lambda x: x, None, vectors), trials=1, seed=0, enter=lambda _: None))


def test_an_error_whose_text_cannot_be_read_is_that_sides_all_the_same() -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise ValueError("never")

    def kernel(x: Tensor) -> Tensor:
        raise SilentError

    with pytest.raises(SideError) as caught:
        run(kernel, lambda x: x)
    assert str(caught.value) == "kernel: SilentError: (its message cannot be read)"
