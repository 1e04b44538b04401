"""Nested values with tensors in them: what models take and what they return.

Containers are tuples (named ones too), lists, dicts and dataclasses; everything else is a leaf. Paths read as Python
would write them: ``[0]``, ``[1]['mask']``, ``[2].mean``. Nothing of a container's own is called: a kernel's may compute
what it should have held already. Below `DEPTH` containers nothing is looked at: a list may hold itself.
"""

from __future__ import annotations

import copy
import dataclasses
import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

DEPTH: Final = 64
"""Containers within one another that are walked; what lies deeper is a leaf. Far from Python's limit of recursion."""


def tensor_leaves(tree: Any, root: str = "", depth: int = 0) -> list[tuple[str, Tensor]]:
    """Every tensor in ``tree`` with its path, depth first.

    Args:
        tree: any nesting.
        root: what the paths start with, such as ``out``.
        depth: containers round ``tree``.
    """
    if isinstance(tree, Tensor):
        return [(root, tree)]
    if depth >= DEPTH:
        return []
    if isinstance(tree, (tuple, list)):
        items = [(f"{root}[{index}]", value) for index, value in enumerate(sequence_values(tree))]
    elif isinstance(tree, dict):
        items = [(f"{root}[{key!r}]", value) for key, value in dict.items(tree)]
    else:
        items = [(f"{root}.{name}", value) for name, value in (dataclass_values(tree) or {}).items()]
    return [leaf for path, value in items for leaf in tensor_leaves(value, path, depth + 1)]


def sequence_values(sequence: tuple[Any, ...] | list[Any]) -> list[Any]:
    """What a tuple or list holds, by the base class's own iteration."""
    return list(tuple.__iter__(sequence) if isinstance(sequence, tuple) else list.__iter__(sequence))


def dataclass_values(value: Any) -> dict[str, Any] | None:
    """The fields that an instance of a dataclass holds, in order; None: it is none, or one is missing or computed."""
    if isinstance(value, type) or not dataclasses.is_dataclass(value):
        return None
    held = _held_attributes(value)
    names = [one.name for one in dataclasses.fields(value)]
    return {name: held[name] for name in names} if all(name in held for name in names) else None


def _held_attributes(value: Any) -> dict[str, Any]:
    """Attributes in the instance's own dict and slots."""
    held: dict[str, Any] = {}
    for kind in reversed(type(value).__mro__):
        for name, member in vars(kind).items():
            if isinstance(member, types.GetSetDescriptorType) and name == "__dict__":
                held.update(member.__get__(value))
            elif isinstance(member, types.MemberDescriptorType):
                try:
                    held[name] = member.__get__(value)
                except AttributeError:
                    continue  # A slot that was never filled.
    return held


def changed_containers(before: Any, now: Any, root: str = "") -> list[str]:
    """Paths of the containers that no longer hold what they held, by identity of what they hold.

    Args:
        before: containers of its own round the same leaves, as `map_tensors` makes them.
        now: the containers to look at.
        root: what the paths start with.
    """
    held, holds = _items(before), _items(now)
    if held is None or holds is None:
        return [] if held is holds else [root]
    if list(held) != list(holds):
        return [root]
    changed: dict[str, None] = {}
    for key, was in held.items():
        if _items(was) is not None:
            changed.update(dict.fromkeys(changed_containers(was, holds[key], root + key)))
        elif was is not holds[key]:
            changed[root] = None
    return list(changed)


def _items(tree: Any) -> dict[str, Any] | None:
    """What a container holds, by the end of its path; None: it is a leaf."""
    if isinstance(tree, Tensor):
        return None
    if isinstance(tree, (tuple, list)):
        return {f"[{index}]": value for index, value in enumerate(sequence_values(tree))}
    if isinstance(tree, dict):
        return {f"[{key!r}]": value for key, value in dict.items(tree)}
    fields = dataclass_values(tree)
    return None if fields is None else {f".{name}": value for name, value in fields.items()}


def is_ordinary(tensor: Tensor) -> bool:
    """Its elements lie in memory by strides and stand for themselves: not sparse, nested, quantized or opaque."""
    return tensor.layout is torch.strided and not tensor.is_nested and not tensor.is_quantized


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    """The shape; of a nested tensor, which has none, the number of tensors it holds."""
    return (tensor.size(0),) if tensor.is_nested else tuple(tensor.shape)


def bytes_of(tensor: Tensor) -> int:
    """Memory that the values take; of a sparse tensor only those that it holds, its indices left out."""
    if tensor.layout is torch.sparse_coo:
        tensor = tensor._values()
    elif tensor.layout not in (torch.strided, torch.jagged) and tensor.layout is not _MKLDNN:
        tensor = tensor.values()
    return tensor.numel() * tensor.element_size()


_MKLDNN: Any = torch._mkldnn  # type: ignore[attr-defined]


def map_tensors(tree: Any, fn: Callable[[Tensor], Any]) -> Any:
    """The same nesting with ``fn(tensor)`` in each tensor's place and all other leaves as they were."""
    return _map_leaves(tree, lambda leaf: fn(leaf) if isinstance(leaf, Tensor) else leaf)


def clone_tree(tree: Any) -> Any:
    """The same nesting with memory of its own for every tensor and numpy array.

    Shapes, strides and overlap within a tensor are kept; a tensor that stands at two places stays one tensor. Clones
    carry no autograd history. Other leaves are shared.
    """
    clones: dict[int, Tensor] = {}

    def clone(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            if id(leaf) not in clones:
                clones[id(leaf)] = clone_tensor(leaf)
            return clones[id(leaf)]
        return leaf.copy() if isinstance(leaf, np.ndarray) else leaf

    return _map_leaves(tree, clone)


def clone_tensor(tensor: Tensor) -> Tensor:
    """A copy in memory of its own, with the same strides even where elements overlap or leave gaps."""
    plain = tensor.detach()
    if not is_ordinary(plain) or type(plain) is not Tensor or plain.is_conj() or plain.is_neg():
        return plain.clone()
    if _is_dense(plain):
        return plain.clone()
    if plain.numel() == 0:
        return torch.empty_strided(plain.shape, plain.stride(), dtype=plain.dtype, device=plain.device)
    span = 1 + sum((size - 1) * stride for size, stride in zip(plain.shape, plain.stride(), strict=True))
    flat = plain.as_strided((span,), (1,)).clone()
    return flat.as_strided(plain.shape, plain.stride())


def _is_dense(tensor: Tensor) -> bool:
    """Elements fill their span with neither gaps nor overlap, in some order of the dimensions."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def _map_leaves(tree: Any, fn: Callable[[Any], Any], depth: int = 0) -> Any:
    if depth >= DEPTH:
        return fn(tree)
    if isinstance(tree, tuple):
        return _map_tuple(tree, fn, depth + 1)
    if isinstance(tree, list):
        same = copy.copy(tree)
        same[:] = [_map_leaves(value, fn, depth + 1) for value in sequence_values(tree)]
        return same
    if isinstance(tree, dict):
        mapped = copy.copy(tree)
        for key, value in dict.items(tree):
            mapped[key] = _map_leaves(value, fn, depth + 1)
        return mapped
    fields = None if isinstance(tree, Tensor) else dataclass_values(tree)
    return fn(tree) if fields is None else _map_dataclass(tree, fields, fn, depth + 1)


def _map_tuple(tree: tuple[Any, ...], fn: Callable[[Any], Any], depth: int) -> Any:
    old = sequence_values(tree)
    values = [_map_leaves(value, fn, depth) for value in old]
    if type(tree) is not tuple and all(new is was for new, was in zip(values, old, strict=True)):
        return tree
    try:
        return tuple.__new__(type(tree), values)
    except TypeError:  # Torch's own named results are made by their own type alone.
        return type(tree)(values)


def _map_dataclass(tree: Any, fields: dict[str, Any], fn: Callable[[Any], Any], depth: int) -> Any:
    same = object.__new__(type(tree))
    mapped = {name: _map_leaves(value, fn, depth) for name, value in fields.items()}
    for name, value in {**_held_attributes(tree), **mapped}.items():
        # Past a frozen class's refusal, and past a __setattr__ of its own.
        object.__setattr__(same, name, value)
    return same
