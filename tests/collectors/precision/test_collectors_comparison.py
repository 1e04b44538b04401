"""Comparing two outputs: every kind of difference has its own code, and only like outputs pass."""

from __future__ import annotations

import math
import sys
import warnings
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from kprof.collectors.precision.chunks import bits_equal, chunk_indices, is_out_of_memory, over_chunks
from kprof.collectors.precision.comparison import Comparison, compare_trees
from kprof.collectors.precision.tolerances import TOLERANCES
from kprof.trees import clone_tree


def values(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def codes(comparison: Comparison) -> list[str]:
    return [mismatch.code for mismatch in comparison.mismatches]


class LazyTensor(Tensor):
    """Would compute the right answer the moment anybody looks at it."""

    touched: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.touched.append(getattr(func, "__name__", str(func)))
        return torch.zeros(4, 3)


REF = values(4, 3)
ONES = torch.ones(4, 3)
with warnings.catch_warnings():
    # Torch calls nested tensors a prototype and quantized ones deprecated.
    warnings.simplefilter("ignore")
    QUANTIZED = torch.quantize_per_tensor(REF, 0.1, 0, torch.qint8)
    NESTED = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)])
    JAGGED = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
NAN, INF = torch.full((4,), math.nan), torch.full((4,), math.inf)


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


def test_a_subclass_is_refused_and_never_touched() -> None:
    lazy = torch.empty(0).as_subclass(LazyTensor)
    LazyTensor.touched.clear()
    assert codes(compare_trees(lazy, torch.zeros(4, 3))) == ["not_a_plain_tensor"]
    assert LazyTensor.touched == []


def test_a_patched_method_of_a_plain_tensor_is_not_called() -> None:
    cheat = torch.zeros(4, 3)
    cheat.to = lambda *_, **__: REF.double()  # type: ignore[method-assign]
    cheat.detach = lambda: REF  # type: ignore[method-assign]
    assert codes(compare_trees(cheat, REF)) == ["value_mismatch"]


def test_a_parameter_is_accepted() -> None:
    assert codes(compare_trees(torch.nn.Parameter(REF.clone()), REF)) == []


def test_a_lazy_container_is_refused() -> None:
    class Late(tuple):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            return iter((REF,))

    assert codes(compare_trees(Late((torch.zeros(4, 3),)), (REF,))) == ["structure_mismatch"]


def test_a_plain_tuple_stands_for_torchs_named_one_with_a_note() -> None:
    named = torch.max(REF, dim=0)
    comparison = compare_trees((named.values, named.indices), named)
    assert codes(comparison) == []
    assert [note.code for note in comparison.notes] == ["container_type_differs"]
    assert codes(compare_trees({"a": REF}, OrderedDict(a=REF))) == []


def own_pair(fields: str = "mean scale") -> Any:
    """A named tuple as each of two files would define it for itself."""
    return namedtuple("Out", fields)  # type: ignore[misc]


def test_each_file_may_define_its_own_named_tuple() -> None:
    comparison = compare_trees(own_pair()(REF, ONES), own_pair()(REF, ONES))
    assert codes(comparison) == []
    assert [note.code for note in comparison.notes] == ["container_type_differs"]
    assert codes(compare_trees(own_pair()(REF, ONES + 1), own_pair()(REF, ONES))) == ["value_mismatch"]
    assert codes(compare_trees(own_pair("scale mean")(REF, ONES), own_pair()(REF, ONES))) == ["structure_mismatch"]
    assert codes(compare_trees(own_pair()(REF, ONES), (REF, ONES))) == ["structure_mismatch"]
    assert codes(compare_trees(OrderedDict(a=REF), {"a": REF})) == []


def own_record(*, frozen: bool = False, slots: bool = False) -> Any:
    @dataclass(frozen=frozen, slots=slots)
    class Out:
        mean: Any
        scale: Any = None

    return Out


@pytest.mark.parametrize("how", [{}, {"frozen": True}, {"slots": True}, {"frozen": True, "slots": True}])
def test_dataclasses_are_compared_field_by_field(how: dict[str, bool]) -> None:
    ours, theirs = own_record(**how), own_record(**how)
    same = compare_trees(theirs(REF, (ONES, None)), theirs(REF, (ONES, None)))
    assert (codes(same), same.notes, same.elements) == ([], (), 24)
    assert [tolerance.where for tolerance in same.tolerances] == ["out.mean", "out.scale[0]"]
    other = compare_trees(clone_tree(ours(REF, ONES)), theirs(REF, ONES))
    assert [note.code for note in other.notes] == ["container_type_differs"]
    assert codes(other) == []
    wrong = compare_trees(ours(REF, ONES + 1), theirs(REF, ONES))
    assert [(one.code, one.where) for one in wrong.mismatches] == [("value_mismatch", "out.scale")]
    assert codes(compare_trees((REF, ONES), theirs(REF, ONES))) == ["structure_mismatch"]
    assert codes(compare_trees(own_pair("mean other")(REF, ONES), theirs(REF, ONES))) == ["structure_mismatch"]


def test_a_dataclass_that_computes_its_fields_is_refused() -> None:
    class Late(own_record()):  # type: ignore[misc]
        @property
        def mean(self) -> Tensor:
            return REF

        @mean.setter
        def mean(self, value: Any) -> None:
            pass

    assert codes(compare_trees(Late(0, ONES), own_record()(REF, ONES))) == ["structure_mismatch"]


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


def test_a_tolerance_above_most_values_is_vacuous() -> None:
    """As where the reference is far off its own float64 run."""
    ref = values(64, 64)
    comparison = compare_trees(ref, ref, widened={"out": 1.0})
    assert comparison.vacuous_controls == ("small_as_zeros",)
    assert compare_trees(ref, ref, widened={"out": 0.3}).vacuous_controls == ()


def test_a_list_that_holds_itself_ends() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    assert codes(compare_trees(cycle, REF)) == ["structure_mismatch"]
    assert codes(compare_trees(cycle, cycle)) == ["unsupported_output"]
    assert codes(compare_trees(cycle, [REF])) == ["structure_mismatch"]


@pytest.mark.parametrize("chunk", [1, 5, 7, 64, 10**6])
def test_chunks_of_any_size_give_the_same_numbers(chunk: int) -> None:
    """Case 44: checking takes bounded memory."""
    ref = values(3, 4, 5)
    kernel = ref + 1e-5 * values(3, 4, 5, seed=2)
    kernel[2, 1, 3] += 0.5
    kernel = kernel.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    whole = compare_trees(kernel, ref)
    pieces = compare_trees(kernel, ref, chunk_elements=chunk)
    assert pieces.worst_index == whole.worst_index == (2, 1, 3)
    assert pieces.max_abs_error == whole.max_abs_error
    assert pieces.mean_rel_error == pytest.approx(whole.mean_rel_error)
    assert pieces.tolerances[0].scale == pytest.approx(whole.tolerances[0].scale)
    assert pieces.mismatched_elements == whole.mismatched_elements
    assert pieces.elements == 60


@pytest.mark.parametrize(
    ("shape", "limit"), [((), 1), ((7,), 3), ((3, 4, 5), 1), ((3, 4, 5), 6), ((2, 1, 9), 4), ((4, 0), 2)]
)
def test_chunks_cover_a_tensor_in_row_major_order(shape: tuple[int, ...], limit: int) -> None:
    tensor = torch.arange(math.prod(shape)).reshape(shape)
    pieces = [tensor[index].reshape(-1) for index in chunk_indices(shape, limit)]
    assert all(piece.numel() <= limit for piece in pieces)
    assert torch.equal(torch.cat(pieces), tensor.reshape(-1))


def test_comparing_goes_on_on_the_cpu_where_memory_runs_out() -> None:
    calls: list[int] = []

    def total(piece: Tensor) -> float:
        calls.append(piece.numel())
        if len(calls) == 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return float(piece.sum())

    assert list(over_chunks(total, 4, torch.arange(10.0))) == [6.0, 22.0, 17.0]
    assert calls == [4, 4, 4, 2]


def test_only_a_lack_of_memory_is_caught() -> None:
    def broken(_: Tensor) -> float:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    with pytest.raises(RuntimeError, match="illegal memory access"):
        list(over_chunks(broken, 4, torch.arange(10.0)))


def test_out_of_memory_is_recognised_on_the_cpu() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**58)
    assert is_out_of_memory(caught.value)
    assert not is_out_of_memory(RuntimeError("shape mismatch"))


def test_huge_and_tiny_values_have_a_scale() -> None:
    for size in (1e200, 1e-200):
        ref = torch.full((4,), size, dtype=torch.float64)
        comparison = compare_trees(ref * (1 + 1e-6), ref)
        assert comparison.tolerances[0].scale == pytest.approx(size)
        assert codes(comparison) == ["value_mismatch"]
    most = torch.full((4,), torch.finfo(torch.float64).max, dtype=torch.float64)
    assert compare_trees(-most, most).max_abs_error == torch.finfo(torch.float64).max


def test_bits() -> None:
    assert bits_equal(NAN, NAN.clone())
    assert not bits_equal(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert bits_equal(REF.t(), REF.t().contiguous(), limit=2)
    for dtype in (torch.bool, torch.complex64, torch.float8_e4m3fn, torch.int64):
        one = values(6).to(dtype)
        assert bits_equal(one, one.clone())
    assert not bits_equal(torch.tensor([True]), torch.tensor([False]))


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
