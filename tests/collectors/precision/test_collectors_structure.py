"""Which outputs are alike in structure: containers, records and tensors that are no plain ones."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from compared_outputs import ONES, REF, codes
from torch import Tensor

from kprof.collectors.precision.comparison import compare_trees
from kprof.trees import clone_tree


class LazyTensor(Tensor):
    """Would compute the right answer the moment anybody looks at it."""

    touched: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.touched.append(getattr(func, "__name__", str(func)))
        return torch.zeros(4, 3)


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


def test_a_list_that_holds_itself_ends() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    assert codes(compare_trees(cycle, REF)) == ["structure_mismatch"]
    assert codes(compare_trees(cycle, cycle)) == ["unsupported_output"]
    assert codes(compare_trees(cycle, [REF])) == ["structure_mismatch"]
