"""The values of looked-at calls: new where they are to be new, and with the usual fingerprint where they are not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

from kprof.collectors.integrity.contents import Content, ContentMaker, is_refillable, layout
from kprof.workload import LoadedWorkload


def maker(make: Callable[[], Any], seed: int = 1) -> ContentMaker:
    workload = LoadedWorkload(torch.device("cpu"), lambda *_: None, None, make, "kernel")
    return ContentMaker(workload, workload.inputs(seed), random.Random(0))


def floats() -> list[Any]:
    return [torch.rand(40, 50), torch.arange(10), 3]


def test_repeated_values_are_the_usual_ones_where_they_were() -> None:
    made = maker(floats)
    arguments = [torch.zeros(40, 50), torch.zeros(10, dtype=torch.long), 3]
    version = arguments[0]._version
    given = made.make("repeated").write_to(arguments)
    assert given[0] is arguments[0]
    assert torch.equal(given[0], made.base[0])
    assert given[0]._version == version  # a kernel cannot tell by torch's count of writes


def test_values_never_seen_differ_from_the_usual_ones_and_from_each_other() -> None:
    made = maker(floats)
    seen = [made.make("refilled").fresh()[0] for _ in range(30)]
    assert not any(torch.equal(one, made.base[0]) for one in seen)
    assert len({tuple(one.flatten().tolist()) for one in seen}) == 30


def test_whole_numbers_are_never_exchanged() -> None:
    made = maker(lambda: [torch.randint(0, 9, (50,))])
    assert made.absent["swapped"].code == "no_floating_inputs"
    assert torch.equal(Content("refilled", made.base, shift=7).fresh()[0], made.base[0])


def test_swapped_values_keep_shape_first_last_and_sum() -> None:
    made = maker(floats)
    base = made.base[0]
    swapped = [made.make("swapped") for _ in range(20)]
    for content in swapped:
        assert content.derived
        one = content.fresh()[0]
        assert not torch.equal(one, base)
        assert one.flatten()[0] == base.flatten()[0]
        assert one.flatten()[-1] == base.flatten()[-1]
        assert torch.allclose(one.double().sum(), base.double().sum())
        assert torch.equal(one.flatten().sort().values, base.flatten().sort().values)
    assert len({tuple(content.fresh()[0].flatten().tolist()) for content in swapped}) == 20
    pairs = [content for content in swapped if content.swap is not None]
    assert any(content.fresh()[0].sum() == base.sum() for content in pairs)


def test_the_source_is_never_handed_out() -> None:
    made = maker(floats)
    before = made.base[0].clone()
    for values in ("repeated", "refilled", "moved", "swapped"):
        made.make(values).fresh()[0].zero_()  # type: ignore[arg-type]
    assert torch.equal(made.base[0], before)


def test_inputs_of_other_shapes_cannot_be_written_where_the_usual_ones_are() -> None:
    made = maker(lambda: [torch.rand(int(torch.randint(5, 500, ())))])
    assert {name: made.absent[name].code for name in ("refilled", "moved")} == {
        "refilled": "shapes_vary",
        "moved": "shapes_vary",
    }
    assert made.make("swapped").derived


@pytest.mark.parametrize(
    ("tensor", "refillable"),
    [
        (torch.rand(3, 4), True),
        (torch.rand(3, 4).t(), True),
        (torch.rand(3, 1).expand(3, 4), False),
        (torch.rand(3, 4).to_sparse(), False),
        (torch.rand(1, 4).expand(1, 4), True),
    ],
)
def test_what_can_be_written_anew(tensor: torch.Tensor, refillable: bool) -> None:
    assert is_refillable(tensor) is refillable


def test_inputs_with_no_tensor_that_can_be_written_say_so() -> None:
    made = maker(lambda: [torch.rand(3, 1).expand(3, 4)])
    assert {made.absent["refilled"].code, made.absent["swapped"].code} == {"inputs_not_refillable"}


def test_layouts_tell_shapes_and_types() -> None:
    assert layout([torch.rand(3), 1]) == layout([torch.rand(3), 2])
    assert layout([torch.rand(3)]) != layout([torch.rand(4)])
    assert layout([torch.rand(3)]) != layout([torch.rand(3).double()])


@pytest.mark.parametrize("make", [lambda x: x.to_sparse_csr(), lambda x: x[:, :1].expand(3, 4)])
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_all_inputs_of_a_call_are_of_one_set_of_values(make: Callable[[torch.Tensor], torch.Tensor]) -> None:
    old, new = torch.rand(3, 4), torch.rand(3, 4)
    arguments, source = [old.clone(), make(old.clone())], [new, make(new)]
    given = Content("refilled", source).write_to(arguments)
    assert given[0] is arguments[0]
    assert torch.equal(given[0], new)
    assert torch.equal(given[1].to_dense(), make(new).to_dense())
    given[1].values().zero_() if given[1].layout is torch.sparse_csr else given[1][:, :1].zero_()
    assert torch.equal(source[1].to_dense(), make(new).to_dense())
