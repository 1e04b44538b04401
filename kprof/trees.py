"""Nested values with tensors in them: what models take and what they return.

Containers are tuples (named ones too), lists and dicts; everything else is a leaf. Paths read as Python would write
them: ``[0]``, ``[1]['mask']``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor


def tensor_leaves(tree: Any, root: str = "") -> list[tuple[str, Tensor]]:
    """Every tensor in ``tree`` with its path, depth first.

    Args:
        tree: any nesting.
        root: what the paths start with, such as ``out``.
    """
    if isinstance(tree, Tensor):
        return [(root, tree)]
    if isinstance(tree, (tuple, list)):
        items = [(f"{root}[{index}]", value) for index, value in enumerate(tree)]
    elif isinstance(tree, dict):
        items = [(f"{root}[{key!r}]", value) for key, value in tree.items()]
    else:
        items = []
    return [leaf for path, value in items for leaf in tensor_leaves(value, path)]


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
    if plain.layout is not torch.strided or type(plain) is not Tensor or plain.is_conj() or plain.is_neg():
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


def _map_leaves(tree: Any, fn: Callable[[Any], Any]) -> Any:
    if isinstance(tree, tuple):
        values = [_map_leaves(value, fn) for value in tree]
        if type(tree) is tuple:
            return tuple(values)
        if all(new is old for new, old in zip(values, tree, strict=True)):
            return tree
        make = getattr(type(tree), "_make", type(tree))  # A named tuple takes its fields one by one.
        return make(values)
    if isinstance(tree, list):
        same = copy.copy(tree)
        same[:] = [_map_leaves(value, fn) for value in tree]
        return same
    if isinstance(tree, dict):
        mapped = copy.copy(tree)
        for key, value in tree.items():
            mapped[key] = _map_leaves(value, fn)
        return mapped
    return fn(tree)
