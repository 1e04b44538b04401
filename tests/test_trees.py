"""Nested values: finding, mapping and cloning the tensors in them."""

from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from kprof.trees import (
    bytes_of,
    changed_containers,
    clone_tensor,
    clone_tree,
    dataclass_values,
    map_tensors,
    shape_of,
    tensor_leaves,
)

Pair = namedtuple("Pair", "first second")


def test_paths_read_as_python() -> None:
    x = torch.ones(2)
    tree = [x, {"mask": x, 3: (x, "text", None)}, Pair(1, x)]
    assert [path for path, _ in tensor_leaves(tree)] == ["[0]", "[1]['mask']", "[1][3][0]", "[2][1]"]
    assert [path for path, _ in tensor_leaves((x,), "out")] == ["out[0]"]
    assert [path for path, _ in tensor_leaves(x, "out")] == ["out"]
    assert tensor_leaves("none here") == []


def test_mapping_keeps_every_container_and_other_leaf() -> None:
    x = torch.ones(2)
    table: defaultdict[str, object] = defaultdict(list, a=x)
    tree = (x, [x, 1], Pair(x, "s"), OrderedDict(b=x), table, torch.max(x, dim=0), x.shape, None)
    mapped = map_tensors(tree, lambda tensor: tensor * 2)
    assert [type(value) for value in mapped] == [type(value) for value in map_tensors(tree, lambda tensor: tensor)]
    assert torch.equal(mapped[2].first, x * 2)
    assert mapped[2].second == "s"
    assert mapped[4].default_factory is list
    assert torch.equal(mapped[5].values, torch.tensor(2.0))
    assert mapped[1][1] == 1
    assert mapped[6] is tree[6]
    assert torch.equal(x, torch.ones(2))
    assert tree[1][0] is x


def test_clones_share_no_memory_and_keep_strides() -> None:
    base = torch.arange(24.0).reshape(4, 6)
    tree = [base.t(), base[:, ::2], base[:1].expand(3, 6), base[1:1], base.as_strided((3, 3), (1, 2)), torch.tensor(3)]
    clones = clone_tree(tree)
    for old, new in zip(tree, clones, strict=True):
        assert torch.equal(old, new)
        assert old.stride() == new.stride()
        if old.numel():
            assert old.untyped_storage().data_ptr() != new.untyped_storage().data_ptr()
    clones[0].zero_()
    assert base.sum() == 276.0


def test_a_tensor_that_stands_twice_stays_one() -> None:
    x = torch.ones(2)
    first, second = clone_tree([x, {"again": x}])
    assert first is second["again"]
    assert first is not x


def test_arrays_lists_and_dicts_are_fresh_too() -> None:
    tree = [np.ones(2), [1, 2], {"a": 1}]
    clones = clone_tree(tree)
    clones[0][0], clones[1][0], clones[2]["a"] = 5.0, 5, 5
    assert tree[0].tolist() == [1.0, 1.0]  # type: ignore[attr-defined]
    assert tree[1:] == [[1, 2], {"a": 1}]


def test_clones_carry_no_history() -> None:
    x = torch.ones(2, requires_grad=True)
    assert not clone_tensor(x * 2).requires_grad
    assert not clone_tree([x])[0].requires_grad


def test_conjugated_and_sparse_tensors_keep_their_values() -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    assert torch.equal(clone_tensor(z.conj()), z.conj())
    sparse = torch.eye(3).to_sparse()
    assert torch.equal(clone_tensor(sparse).to_dense(), torch.eye(3))


@dataclass(frozen=True)
class Out:
    mean: Any
    rest: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert self.mean is not None


def test_dataclasses_are_containers() -> None:
    x = torch.ones(2)
    tree = Out(x, [1, x])
    assert [path for path, _ in tensor_leaves([tree], "out")] == ["out[0].mean", "out[0].rest[1]"]
    doubled = map_tensors(tree, lambda tensor: tensor * 2)
    assert type(doubled) is Out
    assert torch.equal(doubled.mean, x * 2)
    assert tree.mean is x
    # Made without its constructor, which may want anything.
    assert map_tensors(tree, lambda _: None).mean is None
    clone = clone_tree(tree)
    clone.rest.append(3)
    assert clone.mean is clone.rest[1]
    assert clone.mean is not x
    assert len(tree.rest) == 2
    assert dataclass_values(Out) is None
    assert dataclass_values(3) is None
    assert map_tensors(Out, lambda tensor: tensor) is Out


def test_a_containers_own_reading_is_not_used() -> None:
    class Late(tuple):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            raise AssertionError

    (path, leaf), *others = tensor_leaves(Late((torch.ones(2),)))
    assert (path, leaf.tolist(), others) == ("[0]", [1.0, 1.0], [])
    assert type(map_tensors(Late((torch.ones(2),)), lambda tensor: tensor + 1)) is Late


def test_layouts_without_strides_are_cloned_and_measured() -> None:
    x = torch.eye(3)
    assert torch.equal(clone_tensor(x.to_mkldnn()).to_dense(), x)
    assert (bytes_of(x), bytes_of(x.to_sparse()), bytes_of(x.to_mkldnn())) == (36, 12, 36)
    with warnings.catch_warnings():
        # Torch calls nested tensors and the compressed layouts a prototype, and quantized ones deprecated.
        warnings.simplefilter("ignore")
        assert bytes_of(x.to_sparse_csr()) == 12
        assert torch.equal(clone_tensor(x.to_sparse_csr()).to_dense(), x)
        quantized = torch.quantize_per_tensor(x, 0.5, 0, torch.qint8)
        assert torch.equal(clone_tensor(quantized.t()).dequantize(), x)
        for layout in (torch.strided, torch.jagged):
            nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=layout)
            clone = clone_tensor(nested)
            assert torch.equal(clone.unbind()[1], torch.ones(4, 3))
            assert (shape_of(clone), bytes_of(clone)) == ((2,), 72)
    assert shape_of(x) == (3, 3)


def test_containers_that_hold_something_else_are_named() -> None:
    x = torch.ones(2)
    tree: list[Any] = [[x], {"cache": [x, 1]}, (x, {"n": 1}), x]
    held = map_tensors(tree, lambda leaf: leaf)
    assert changed_containers(held, tree) == []
    x.add_(1)  # The tensor's values are not the container's.
    assert changed_containers(held, tree) == []
    tree[0].append(x)
    tree[1]["cache"][0] = x.clone()
    tree[2][1]["m"] = 2
    assert changed_containers(held, tree) == ["[0]", "[1]['cache']", "[2][1]"]
    tree[1]["cache"] = None
    assert changed_containers(held, tree) == ["[0]", "[1]['cache']", "[2][1]"]
