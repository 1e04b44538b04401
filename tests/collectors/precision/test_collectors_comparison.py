"""Comparing two outputs: each difference has its own code, only like outputs pass, and a mismatch has its numbers."""

from __future__ import annotations

import math
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from compared_outputs import INF, NAN, ONES, REF, codes, values

from kprof.collectors.precision.comparison import compare_trees
from kprof.trees import clone_tree

with warnings.catch_warnings():
    # Torch calls nested tensors a prototype and quantized ones deprecated.
    warnings.simplefilter("ignore")
    QUANTIZED = torch.quantize_per_tensor(REF, 0.1, 0, torch.qint8)
    NESTED = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)])
    JAGGED = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)


@pytest.mark.parametrize(
    ("kernel", "ref", "code"),
    [
        (ONES[:, :1], ONES, "shape_mismatch"),
        (torch.ones(1), torch.ones(()), "shape_mismatch"),
        (torch.empty(0), REF, "empty_output"),
        (torch.empty(0), torch.empty(0), "both_empty"),
        (REF.half(), REF, "dtype_mismatch"),
        (REF.to("meta"), REF, "device_mismatch"),
        (REF.to_sparse(), REF, "layout_mismatch"),
        (NAN, NAN, "nan_equals_nan"),
        (NAN, torch.ones(4), "nonfinite_mismatch"),
        (torch.ones(4), NAN, "nonfinite_mismatch"),
        (INF, INF, "inf_equals_inf"),
        (-INF, INF, "nonfinite_mismatch"),
        (NAN, INF, "nonfinite_mismatch"),
        ((REF,), REF, "structure_mismatch"),
        (REF, (REF,), "structure_mismatch"),
        ([REF], (REF,), "structure_mismatch"),
        ((REF, (REF,)), (REF, REF), "structure_mismatch"),
        ((REF, REF), (REF,), "structure_mismatch"),
        ({"a": REF}, {"b": REF}, "structure_mismatch"),
        ({"a": REF}, REF, "structure_mismatch"),
        (None, REF, "none_for_tensor"),
        (1.0, torch.ones(()), "number_for_tensor"),
        (np.ones((4, 3), np.float32), ONES, "array_for_tensor"),
        (object(), REF, "type_mismatch"),
        (REF, object(), "unsupported_output"),
        (REF, None, "type_mismatch"),
        ((), (), "nothing_to_compare"),
        (None, None, "nothing_to_compare"),
        ((None, [None]), (None, [None]), "nothing_to_compare"),
        (QUANTIZED, QUANTIZED, "unsupported_output"),
        (QUANTIZED, REF, "dtype_mismatch"),
        (NESTED, NESTED, "unsupported_output"),
        (NESTED, REF, "layout_mismatch"),
        (JAGGED, JAGGED, "unsupported_output"),
        (JAGGED, REF, "not_a_plain_tensor"),
        (np.array(["a"]), np.array(["a"]), "unsupported_output"),
        (np.array(["a"]), np.array([1.0]), "dtype_mismatch"),
        (2.0, 2, "type_mismatch"),
        (3, 2, "value_mismatch"),
        (1.01, 1.0, "value_mismatch"),
        (np.array([1, 2]), np.array([1, 3]), "value_mismatch"),
        (torch.tensor([True, False]), torch.tensor([True, True]), "value_mismatch"),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), "value_mismatch"),
        (REF + 0.01, REF, "value_mismatch"),
        (torch.zeros(4, 3), REF, "value_mismatch"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_difference_has_its_own_code(kernel: Any, ref: Any, code: str) -> None:
    assert codes(compare_trees(kernel, ref)) == [code]


@pytest.mark.parametrize(
    "output",
    [
        REF,
        (REF, ONES),
        [REF, (REF, {"m": ONES})],
        {"out": REF, "n": torch.arange(4)},
        (REF, None, "text", 3, True, 0.5, 1 + 2j),
        (REF, torch.empty(0, 3)),
        torch.tensor([True, False]),
        torch.arange(5, dtype=torch.uint8),
        torch.tensor([0, 2**64 - 1], dtype=torch.uint64),
        np.arange(3.0),
        values(3, dtype=torch.complex64),
        values(5, dtype=torch.float64),
        values(5, dtype=torch.bfloat16),
        values(5, dtype=torch.float8_e4m3fn),
        values(5, dtype=torch.float8_e5m2),
        torch.arange(5, dtype=torch.uint8).view(torch.float8_e8m0fnu),
        torch.arange(5, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
        REF.to_sparse(),
        torch.tensor(2.5),
    ],
    ids=lambda value: str(getattr(value, "dtype", type(value).__name__)),
)
def test_equal_outputs_pass_with_no_error(output: Any) -> None:
    comparison = compare_trees(clone_tree(output), output)
    assert codes(comparison) == []
    assert comparison.mismatched_elements == 0
    assert comparison.max_abs_error == comparison.mean_abs_error == comparison.max_rel_error == 0.0


def test_strides_are_noted_and_never_fail() -> None:
    comparison = compare_trees(REF.t().contiguous().t(), REF)
    assert codes(comparison) == []
    assert [note.code for note in comparison.notes] == ["strides_differ"]
    assert "(1, 4)" in comparison.notes[0].message
    assert "(3, 1)" in comparison.notes[0].message
    # One element has no layout to speak of.
    assert compare_trees(torch.ones(1, 1).as_strided((1, 1), (7, 7)), torch.ones(1, 1)).notes == ()


def test_shape_and_dtype_are_both_reported() -> None:
    assert codes(compare_trees(torch.ones(2, dtype=torch.float16), torch.ones(3))) == [
        "shape_mismatch",
        "dtype_mismatch",
    ]


def test_the_numbers_of_a_mismatch() -> None:
    ref = torch.full((2, 3), 2.0)
    kernel = ref.clone()
    kernel[1, 2], kernel[0, 1] = 3.0, 2.5
    comparison = compare_trees(("x", kernel), ("x", ref))
    assert comparison.elements == 6
    assert comparison.mismatched_elements == 2
    assert comparison.max_abs_error == 1.0
    assert comparison.mean_abs_error == pytest.approx(0.25)
    assert comparison.max_rel_error == 0.5
    assert comparison.mean_rel_error == pytest.approx(0.125)
    assert comparison.worst_output == "out[1]"
    assert comparison.worst_index == (1, 2)
    assert (comparison.worst_kernel_value, comparison.worst_ref_value) == (3.0, 2.0)
    (tolerance,) = comparison.tolerances
    assert (tolerance.where, tolerance.dtype, tolerance.scale, tolerance.rtol) == ("out[1]", "float32", 2.0, 1e-4)
    assert tolerance.atol == pytest.approx(2e-4)
    # (3 - 2) over an allowed 2e-4 + 1e-4 * 2.
    assert comparison.worst_over_tolerance == pytest.approx(1.0 / 4e-4)
    # One element is named, by the block: not here too.
    assert comparison.mismatches[0].message == "2 of 6 elements differ by more than 0.0002 + 0.0001 * |ref|"


def test_the_worst_of_several_outputs_is_the_one_furthest_over_its_tolerance() -> None:
    large, small = torch.full((4,), 1000.0), torch.full((4,), 1e-3)
    comparison = compare_trees({"a": large + 1.0, "b": small * 2}, {"a": large, "b": small})
    assert comparison.worst_output == "out['b']"
    assert comparison.max_abs_error == 1.0
    assert codes(comparison) == ["value_mismatch", "value_mismatch"]


def test_whole_numbers_have_errors_too() -> None:
    comparison = compare_trees(torch.tensor([1, 10, 0]), torch.tensor([1, 12, 1]))
    assert (comparison.max_abs_error, comparison.max_rel_error) == (2.0, 1.0)
    assert comparison.mean_abs_error == 1.0
    assert comparison.worst_index == (1,)
    assert comparison.tolerances[0].atol == comparison.tolerances[0].rtol == 0.0
    # Neighbours that float64 cannot tell apart.
    assert compare_trees(torch.tensor([2**53 + 1]), torch.tensor([2**53])).mismatched_elements == 1


def test_an_unlike_infinity_is_the_worst_element_and_leaves_the_errors_finite() -> None:
    ref = torch.tensor([1.0, 2.0, 3.0, 4.0])
    kernel = torch.tensor([1.5, math.inf, 3.0, 4.0])
    comparison = compare_trees(kernel, ref)
    assert codes(comparison) == ["nonfinite_mismatch", "value_mismatch"]
    assert comparison.worst_index == (1,)
    assert comparison.worst_kernel_value is None
    assert comparison.worst_ref_value == 2.0
    assert comparison.max_abs_error == 0.5
    assert comparison.mismatched_elements == 2
    assert comparison.worst_over_tolerance == sys.float_info.max
    assert comparison.mismatches[0].message == "1 of 4 elements are NaN or infinite on one side only or unlike"


def test_equal_infinities_are_notes_where_they_are_allowed() -> None:
    ref = REF.masked_fill(torch.tril(torch.ones(4, 3)) == 0, -math.inf)
    comparison = compare_trees(ref.clone(), ref, allow_nonfinite=True)
    assert codes(comparison) == []
    assert [note.code for note in comparison.notes] == ["inf_equals_inf"]
    assert comparison.nonfinite_elements == 3
    assert comparison.elements == 12
    wrong = ref.clone()
    wrong[0, 0] = math.nan
    assert codes(compare_trees(wrong, ref, allow_nonfinite=True)) == ["nonfinite_mismatch"]


def test_all_nan_has_no_errors_at_all() -> None:
    comparison = compare_trees(NAN, NAN)
    assert comparison.max_abs_error is None
    assert comparison.mean_rel_error is None
    assert comparison.worst_ref_value is None
    assert comparison.vacuous_controls == ()


def test_complex_parts_are_compared_apart() -> None:
    ref = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex64)
    assert codes(compare_trees(ref.conj(), ref)) == ["value_mismatch"]
    assert codes(compare_trees(ref.conj().conj(), ref)) == []
    left = torch.tensor([complex(math.inf, 1)])
    right = torch.tensor([complex(1, math.inf)])
    assert codes(compare_trees(left, right)) == ["nonfinite_mismatch"]
