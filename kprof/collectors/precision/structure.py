"""Pairs the tensors of two outputs, and says where type, shape, dtype or device are not the same.

Everything is exact: no broadcasting, no promotion, no tensor subclass (it may compute when it is looked at). Nothing of
the kernel's that is not a plain tensor is asked for a value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from kprof.evidence import Mismatch, Reason

PLAIN_TYPES: Final = (Tensor, torch.nn.Parameter)
_CONTAINERS: Final[tuple[type, ...]] = (tuple, list, dict)
_NUMBERS: Final[tuple[type, ...]] = (bool, int, float, complex)
_FOR_TENSOR: Final[tuple[tuple[tuple[type, ...], str], ...]] = (
    ((type(None),), "none_for_tensor"),
    (_CONTAINERS, "structure_mismatch"),
    ((np.ndarray, np.generic), "array_for_tensor"),
    (_NUMBERS, "number_for_tensor"),
)


@dataclass(frozen=True)
class LeafPair:
    """Two tensors of equal shape, dtype and device, without autograd history."""

    where: str
    kernel: Tensor
    ref: Tensor
    contract: torch.dtype
    """Whose tolerance applies: the dtype itself, or float32 for Python numbers."""


@dataclass
class Pairing:
    """What `pair_leaves` found."""

    pairs: list[LeafPair] = field(default_factory=list)
    equal_values: int = 0
    """Leaves that are no tensors (None, text, whole numbers) and equal."""
    mismatches: list[Mismatch] = field(default_factory=list)
    notes: list[Reason] = field(default_factory=list)

    def differs(self, code: str, where: str, message: str) -> None:
        self.mismatches.append(Mismatch(code=code, where=where, message=message))


def pair_leaves(kernel: Any, ref: Any, root: str = "out") -> Pairing:
    """Walk both outputs together.

    A plain tuple or dict in place of a named one passes with a note: a kernel cannot make ``torch.return_types``.
    """
    pairing = Pairing()
    _pair(pairing, kernel, ref, root)
    return pairing


def plain(tensor: Tensor) -> Tensor:
    """The tensor as a fresh object: no history, and none of the attributes that may hide its methods."""
    return torch.Tensor.detach(tensor)


def _pair(pairing: Pairing, kernel: Any, ref: Any, where: str) -> None:
    if isinstance(ref, Tensor):
        _pair_tensor(pairing, kernel, ref, where)
    elif isinstance(ref, _CONTAINERS):
        _pair_container(pairing, kernel, ref, where)
    elif ref is None or isinstance(ref, str):
        _pair_exactly(pairing, kernel, ref, where)
    elif isinstance(ref, (np.ndarray, np.generic)):
        _pair_array(pairing, kernel, ref, where)
    elif type(ref) in _NUMBERS:
        _pair_number(pairing, kernel, ref, where)
    else:
        pairing.differs("unsupported_output", where, f"the reference gives {_name(ref)}, which cannot be compared")


def _pair_container(pairing: Pairing, kernel: Any, ref: Any, where: str) -> None:
    family = next(kind for kind in _CONTAINERS if isinstance(ref, kind))
    if type(kernel) is not type(ref) and type(kernel) is not family:
        pairing.differs("structure_mismatch", where, f"the kernel gives {_name(kernel)}, the reference {_name(ref)}")
        return
    if type(kernel) is not type(ref):
        message = f"{where} is {_name(kernel)}, the reference's {_name(ref)}"
        pairing.notes.append(Reason(code="container_type_differs", message=message))
    if isinstance(ref, dict):
        _pair_dict(pairing, kernel, ref, where)
        return
    # The base class's own iteration: a subclass may compute in its own.
    ours, theirs = list(family.__iter__(kernel)), list(family.__iter__(ref))  # type: ignore[attr-defined]
    if len(ours) != len(theirs):
        message = f"the kernel gives {len(ours)} values, the reference {len(theirs)}"
        pairing.differs("structure_mismatch", where, message)
        return
    for index, (value, expected) in enumerate(zip(ours, theirs, strict=True)):
        _pair(pairing, value, expected, f"{where}[{index}]")


def _pair_dict(pairing: Pairing, kernel: dict[Any, Any], ref: dict[Any, Any], where: str) -> None:
    ours, theirs = dict(dict.items(kernel)), dict(dict.items(ref))
    if ours.keys() != theirs.keys():
        message = f"the kernel gives the keys {sorted(map(repr, ours))}, the reference {sorted(map(repr, theirs))}"
        pairing.differs("structure_mismatch", where, message)
        return
    for key, expected in theirs.items():
        _pair(pairing, ours[key], expected, f"{where}[{key!r}]")


def _pair_exactly(pairing: Pairing, kernel: Any, ref: Any, where: str) -> None:
    if type(kernel) is not type(ref):
        pairing.differs("type_mismatch", where, f"the kernel gives {_name(kernel)}, the reference {_name(ref)}")
    elif kernel != ref:
        pairing.differs("value_mismatch", where, f"the kernel gives {kernel!r:.80}, the reference {ref!r:.80}")
    else:
        pairing.equal_values += 1


def _pair_number(pairing: Pairing, kernel: Any, ref: Any, where: str) -> None:
    if type(kernel) is not type(ref) or isinstance(ref, int):
        _pair_exactly(pairing, kernel, ref, where)
        return
    wide, contract = (torch.complex128, torch.complex64) if isinstance(ref, complex) else (torch.float64, torch.float32)
    ours, theirs = torch.tensor(kernel, dtype=wide), torch.tensor(ref, dtype=wide)
    pairing.pairs.append(LeafPair(where, ours, theirs, contract))


def _pair_array(pairing: Pairing, kernel: Any, ref: Any, where: str) -> None:
    if type(kernel) is not type(ref):
        pairing.differs("type_mismatch", where, f"the kernel gives {_name(kernel)}, the reference {_name(ref)}")
        return
    try:
        tensors = torch.from_numpy(np.array(kernel)), torch.from_numpy(np.array(ref))
    except TypeError as error:
        pairing.differs("unsupported_output", where, f"{_name(ref)} cannot be compared: {error}")
        return
    _pair_tensor(pairing, *tensors, where)


def _pair_tensor(pairing: Pairing, kernel: Any, ref: Tensor, where: str) -> None:
    if not isinstance(kernel, Tensor):
        code = next((code for types, code in _FOR_TENSOR if isinstance(kernel, types)), "type_mismatch")
        pairing.differs(code, where, f"the kernel gives {_name(kernel)}, the reference a tensor")
        return
    if type(kernel) not in PLAIN_TYPES:
        message = f"the kernel gives {_name(kernel)}; a plain torch.Tensor was expected"
        pairing.differs("not_a_plain_tensor", where, message)
        return
    ours = plain(kernel)
    theirs = plain(ref if type(ref) in PLAIN_TYPES else ref.as_subclass(Tensor))
    if ours.is_quantized or theirs.is_quantized:
        pairing.differs("unsupported_output", where, f"quantized tensors ({theirs.dtype}) cannot be compared")
        return
    found = len(pairing.mismatches)
    _check_facts(pairing, ours, theirs, where)
    if len(pairing.mismatches) > found:
        return
    if ours.layout is not torch.strided:
        ours, theirs = ours.to_dense(), theirs.to_dense()
    elif ours.stride() != theirs.stride() and ours.numel() > 1:
        message = f"strides of {where}: kernel {ours.stride()}, reference {theirs.stride()}"
        pairing.notes.append(Reason(code="strides_differ", message=message))
    pairing.pairs.append(LeafPair(where, ours, theirs, theirs.dtype))


def _check_facts(pairing: Pairing, ours: Tensor, theirs: Tensor, where: str) -> None:
    if ours.numel() == 0 and theirs.numel() > 0:
        message = f"the kernel gives no elements (shape {_shape(ours)}), the reference {_shape(theirs)}"
        pairing.differs("empty_output", where, message)
    elif ours.shape != theirs.shape:
        message = f"shape: kernel {_shape(ours)}, reference {_shape(theirs)}"
        pairing.differs("shape_mismatch", where, message)
    for code, mine, expected in (
        ("dtype_mismatch", ours.dtype, theirs.dtype),
        ("device_mismatch", ours.device, theirs.device),
        ("layout_mismatch", ours.layout, theirs.layout),
    ):
        if mine != expected:
            message = f"{code.removesuffix('_mismatch')}: kernel {mine}, reference {expected}"
            pairing.differs(code, where, message)


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape)


def _name(value: Any) -> str:
    if value is None:
        return "None"
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"a {module}{kind.__qualname__}"
