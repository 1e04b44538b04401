"""Trivial answers that would have passed too are named, and only those."""

from __future__ import annotations

import torch
from compared_outputs import ONES, REF, codes, values

from kprof.collectors.precision.comparison import compare_trees


def test_softmax_over_many_columns_does_not_pass_with_zeros() -> None:
    """Case 36: the values are far below any fixed atol; in fp16 they are subnormal."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        ref = torch.softmax(values(2, 65536), dim=-1).to(dtype)
        comparison = compare_trees(torch.zeros_like(ref), ref)
        assert codes(comparison) == ["value_mismatch"], dtype
        assert comparison.vacuous_controls == ()


def test_trivial_answers_that_would_pass_are_named() -> None:
    zero = torch.zeros(4, 3)
    comparison = compare_trees(zero.clone(), zero)
    assert comparison.vacuous_controls == ("zeros", "constant")
    assert (comparison.tolerances[0].scale, comparison.tolerances[0].atol) == (0.0, torch.finfo(torch.float32).tiny)
    assert compare_trees(ONES.clone(), ONES).vacuous_controls == ("constant",)
    assert compare_trees(REF.clone(), REF, inputs=[{"x": REF}]).vacuous_controls == ("input",)
    assert compare_trees(REF.clone(), REF, inputs=[REF.double(), REF.t()]).vacuous_controls == ()
    true = torch.ones(4, dtype=torch.bool)
    assert compare_trees(true.clone(), true).vacuous_controls == ("constant",)
    assert compare_trees(torch.arange(4), torch.arange(4)).vacuous_controls == ()


def test_controls_count_for_the_whole_output() -> None:
    zero = torch.zeros(4, 3)
    assert compare_trees((zero, REF), (zero, REF)).vacuous_controls == ()
    assert compare_trees((zero, zero + 2), (zero, zero + 2)).vacuous_controls == ("constant",)
    assert compare_trees((REF, ONES), (REF, ONES), inputs=[ONES, REF]).vacuous_controls == ("input",)


def test_a_single_value_is_not_its_own_constant_control() -> None:
    assert compare_trees(torch.tensor(2.5), torch.tensor(2.5)).vacuous_controls == ()
    assert compare_trees((torch.tensor(2.5), ONES), (torch.tensor(2.5), ONES)).vacuous_controls == ()
    assert compare_trees(torch.tensor(0.0), torch.tensor(0.0)).vacuous_controls == ("zeros", "constant")


def test_rows_far_below_the_tolerance_are_noted() -> None:
    ref = values(8, 16)
    ref[6:] *= 1e-9
    comparison = compare_trees(ref.clone(), ref)
    assert [note.code for note in comparison.notes] == ["elements_below_tolerance"]
    assert compare_trees(REF.relu(), REF.relu()).notes == ()


def test_a_tolerance_above_most_values_is_vacuous() -> None:
    """As where the reference is far off its own float64 run."""
    ref = values(64, 64)
    comparison = compare_trees(ref, ref, widened={"out": 1.0})
    assert comparison.vacuous_controls == ("small_as_zeros",)
    assert compare_trees(ref, ref, widened={"out": 0.3}).vacuous_controls == ()
