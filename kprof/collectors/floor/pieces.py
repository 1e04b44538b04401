"""Where a tensor's elements lie: storages and the footprints within them, read from metadata, on any device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from kprof.collectors.floor.distinct import Coverage, Footprint, covered, footprint
from kprof.trees import bytes_of

# What a sparse tensor of each layout is made of, the values last.
_PARTS: Final[dict[torch.layout, tuple[str, ...]]] = {
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
}
SPARSE: Final = frozenset(_PARTS)
"""Layouts that leave out elements."""


@dataclass(frozen=True)
class Piece:
    """One strided part of a tensor."""

    storage: int
    """Which storage: torch's own object for it, by address; valid while it lives."""
    footprint: Footprint


def pieces_of(tensor: Tensor) -> tuple[Piece, ...]:
    """All parts of a tensor; none where it has no elements.

    A sparse tensor is its values and indices, a wrapper subclass (a jagged one, say) the tensors within, a quantized
    one its integers. One that shows no storage (mkldnn's) is one of its own, as large as its elements.
    """
    parts = _parts(tensor)
    if parts is not None:
        return tuple(piece for part in parts for piece in pieces_of(part))
    try:
        storage = tensor.untyped_storage()._cdata
        if tensor.is_nested:
            # A nested one has no strides: its values lie one after the other.
            sizes: tuple[int, ...] = (tensor.numel(),)
            place = footprint(0, sizes, (1,), tensor.element_size())
        else:
            place = footprint(int(tensor.storage_offset()), tensor.shape, tensor.stride(), tensor.element_size())
    except (NotImplementedError, RuntimeError):
        storage, place = -id(tensor), footprint(0, (bytes_of(tensor),), (1,), 1)
    return () if place is None else (Piece(storage, place),)


def _parts(tensor: Tensor) -> list[Tensor] | None:
    if tensor.layout in _PARTS:
        return [getattr(tensor, name)() for name in _PARTS[tensor.layout]]
    wrapper: Any = tensor
    if is_traceable_wrapper_subclass(wrapper):
        names, _ = wrapper.__tensor_flatten__()
        return [part for part in (getattr(wrapper, name) for name in names) if isinstance(part, Tensor)]
    return None


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors among an operator's arguments or results, in lists and tuples too."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [tensor for item in value for tensor in tensors_in(item)]


def total(groups: Iterable[Iterable[Footprint]]) -> Coverage:
    """Distinct bytes over several storages, the footprints of each in a group of its own."""
    parts = [covered(group) for group in groups]
    return Coverage(sum(part.bytes for part in parts), all(part.exact for part in parts))


def by_storage(pieces: Iterable[Piece]) -> dict[int, set[Footprint]]:
    """Footprints, by the storage that they lie in."""
    groups: dict[int, set[Footprint]] = {}
    for piece in pieces:
        groups.setdefault(piece.storage, set()).add(piece.footprint)
    return groups
