"""Pairs the tensors of two outputs, and says where type, shape, dtype or device are not the same.

Everything is exact: no broadcasting, no promotion, no tensor subclass (it may compute when it is looked at). Nothing of
the kernel's that is not a plain tensor is asked for a value.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from kprof.evidence import Reason
from kprof.precision_evidence import Mismatch
from kprof.trees import DEPTH, dataclass_values, sequence_values, shape_of

PLAIN_TYPES: Final = (Tensor, torch.nn.Parameter)
_CONTAINERS: Final[tuple[type, ...]] = (tuple, list, dict)
_NUMBERS: Final[tuple[type, ...]] = (bool, int, float, complex)
_KNOWN_DICTS: Final = (OrderedDict, defaultdict)
_READING: Final = ("__iter__", "__getitem__", "__setitem__", "__len__", "__reduce_ex__", "__reduce__")
"""What reads or copies a container; a type that has its own may compute there what it should have held already."""
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
    """Leaves that are no tensors (text, whole numbers) and equal. None is no value: a model that works in place, and
    returns nothing, shows nothing."""
    mismatches: list[Mismatch] = field(default_factory=list)
    notes: list[Reason] = field(default_factory=list)

    def differs(self, code: str, where: str, message: str) -> None:
        self.mismatches.append(Mismatch(code=code, where=where, message=message))


def pair_leaves(kernel: Any, ref: Any, root: str = "out") -> Pairing:
    """Walk both outputs together.

    A container of another type passes with a note where it reads alike: two files may each define their own named tuple
    with the same fields, and a kernel cannot make ``torch.return_types``.
    """
    pairing = Pairing()
    _pair(pairing, kernel, ref, root, 0)
    return pairing


def plain(tensor: Tensor) -> Tensor:
    """The tensor as a fresh object: no history, and none of the attributes that may hide its methods."""
    return torch.Tensor.detach(tensor)


def _pair(pairing: Pairing, kernel: Any, ref: Any, where: str, depth: int) -> None:
    if isinstance(ref, Tensor):
        _pair_tensor(pairing, kernel, ref, where)
    elif depth >= DEPTH:
        message = f"the reference's output holds more than {DEPTH} containers within one another, or itself"
        pairing.differs("unsupported_output", f"{where[:40]}...", message)
    elif isinstance(ref, _CONTAINERS):
        _pair_container(pairing, kernel, ref, where, depth + 1)
    elif ref is None or isinstance(ref, str):
        _pair_exactly(pairing, kernel, ref, where)
    elif isinstance(ref, (np.ndarray, np.generic)):
        _pair_array(pairing, kernel, ref, where)
    elif type(ref) in _NUMBERS:
        _pair_number(pairing, kernel, ref, where)
    elif (fields := dataclass_values(ref)) is not None:
        _pair_dataclass(pairing, kernel, ref, fields, where, depth + 1)
    else:
        pairing.differs("unsupported_output", where, f"the reference gives {_name(ref)}, which cannot be compared")


def _pair_container(pairing: Pairing, kernel: Any, ref: Any, where: str, depth: int) -> None:
    family = next(kind for kind in _CONTAINERS if isinstance(ref, kind))
    if not _reads_alike(type(kernel), type(ref), family):
        pairing.differs("structure_mismatch", where, f"the kernel gives {_name(kernel)}, the reference {_name(ref)}")
        return
    _note_type(pairing, kernel, ref, where)
    if isinstance(ref, dict):
        _pair_dict(pairing, kernel, ref, where, depth)
        return
    ours, theirs = sequence_values(kernel), sequence_values(ref)
    if len(ours) != len(theirs):
        message = f"the kernel gives {len(ours)} values, the reference {len(theirs)}"
        pairing.differs("structure_mismatch", where, message)
        return
    for index, (value, expected) in enumerate(zip(ours, theirs, strict=True)):
        _pair(pairing, value, expected, f"{where}[{index}]", depth)


def _reads_alike(ours: type, theirs: type, family: type) -> bool:
    """A container of the one type stands for one of the other: same family, same field names, read in the same way."""
    if ours is theirs or ours is family:
        return True
    if not issubclass(ours, family):
        return False
    if family is dict and ours in _KNOWN_DICTS:
        return True
    same_fields = getattr(ours, "_fields", None) == getattr(theirs, "_fields", None)
    plainly = all(getattr(ours, name, None) is getattr(family, name, None) for name in _READING)
    return same_fields and plainly and not hasattr(ours, "__copy__")


def _note_type(pairing: Pairing, kernel: Any, ref: Any, where: str) -> None:
    if type(kernel) is not type(ref):
        message = f"{where} is {_name(kernel)}, the reference's {_name(ref)}"
        pairing.notes.append(Reason(code="container_type_differs", message=message))


def _pair_dataclass(pairing: Pairing, kernel: Any, ref: Any, theirs: dict[str, Any], where: str, depth: int) -> None:
    ours = dataclass_values(kernel)
    if ours is None:
        pairing.differs("structure_mismatch", where, f"the kernel gives {_name(kernel)}, the reference {_name(ref)}")
        return
    if ours.keys() != theirs.keys():
        message = f"the kernel gives the fields {sorted(ours)}, the reference {sorted(theirs)}"
        pairing.differs("structure_mismatch", where, message)
        return
    _note_type(pairing, kernel, ref, where)
    for name, expected in theirs.items():
        _pair(pairing, ours[name], expected, f"{where}.{name}", depth)


def _pair_dict(pairing: Pairing, kernel: dict[Any, Any], ref: dict[Any, Any], where: str, depth: int) -> None:
    ours, theirs = dict(dict.items(kernel)), dict(dict.items(ref))
    if ours.keys() != theirs.keys():
        message = f"the kernel gives the keys {sorted(map(repr, ours))}, the reference {sorted(map(repr, theirs))}"
        pairing.differs("structure_mismatch", where, message)
        return
    for key, expected in theirs.items():
        _pair(pairing, ours[key], expected, f"{where}[{key!r}]", depth)


def _pair_exactly(pairing: Pairing, kernel: Any, ref: Any, where: str) -> None:
    if type(kernel) is not type(ref):
        pairing.differs("type_mismatch", where, f"the kernel gives {_name(kernel)}, the reference {_name(ref)}")
    elif kernel != ref:
        pairing.differs("value_mismatch", where, f"the kernel gives {kernel!r:.80}, the reference {ref!r:.80}")
    elif ref is not None:
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
        theirs = torch.from_numpy(np.array(ref))
    except TypeError as error:
        pairing.differs("unsupported_output", where, f"the reference gives an array that cannot be compared: {error}")
        return
    try:
        ours = torch.from_numpy(np.array(kernel))
    except TypeError:
        message = f"dtype: kernel {np.asarray(kernel).dtype}, reference {np.asarray(ref).dtype}"
        pairing.differs("dtype_mismatch", where, message)
        return
    _pair_tensor(pairing, ours, theirs, where)


def _pair_tensor(pairing: Pairing, kernel: Any, ref: Tensor, where: str) -> None:
    if (limit := _beyond_comparison(ref)) is not None:
        pairing.differs("unsupported_output", where, f"the reference gives {limit}, which cannot be compared")
        return
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
    if ours.is_nested:
        pairing.differs("layout_mismatch", where, f"layout: kernel nested, reference {theirs.layout}")
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


def _beyond_comparison(tensor: Tensor) -> str | None:
    """What a tensor of the reference's is, where that is more than its elements."""
    # The base class's own attributes, past a subclass's: this is asked of the kernel's results too, call against call.
    base: Any = Tensor
    with torch._C.DisableTorchFunctionSubclass():
        if base.is_nested.__get__(tensor):
            return "a nested tensor"
        if base.is_quantized.__get__(tensor):
            return f"a quantized tensor ({base.dtype.__get__(tensor)})"
    # Such a subclass keeps its values in tensors of its own and has no memory that could be read.
    return _name(tensor) if hasattr(type(tensor), "__tensor_flatten__") else None


def _check_facts(pairing: Pairing, ours: Tensor, theirs: Tensor, where: str) -> None:
    if ours.numel() == 0 and theirs.numel() > 0:
        message = f"the kernel gives no elements (shape {shape_of(ours)}), the reference {shape_of(theirs)}"
        pairing.differs("empty_output", where, message)
    elif ours.shape != theirs.shape:
        message = f"shape: kernel {shape_of(ours)}, reference {shape_of(theirs)}"
        pairing.differs("shape_mismatch", where, message)
    for code, mine, expected in (
        ("dtype_mismatch", ours.dtype, theirs.dtype),
        ("device_mismatch", ours.device, theirs.device),
        ("layout_mismatch", ours.layout, theirs.layout),
    ):
        if mine != expected:
            message = f"{code.removesuffix('_mismatch')}: kernel {mine}, reference {expected}"
            pairing.differs(code, where, message)


def _name(value: Any) -> str:
    if value is None:
        return "None"
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"a {module}{kind.__qualname__}"
