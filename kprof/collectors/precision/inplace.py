"""What a call does to its own arguments: overwrites them, or hands one of them back.

Trials give each call clones of its own, so neither makes a result wrong. In the timing runs the calls share inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from kprof.collectors.precision.chunks import bits_equal
from kprof.collectors.precision.structure import PLAIN_TYPES, plain
from kprof.evidence import Reason, Side
from kprof.trees import is_ordinary, tensor_leaves

_NAMES: dict[Side, str] = {"kernel": "kernel", "ref": "reference"}


def readable_leaves(tree: Any, root: str = "") -> dict[str, Tensor]:
    """Tensors by path whose memory can be read: no subclass, nothing sparse, nested or quantized."""
    return {path: leaf for path, leaf in tensor_leaves(tree, root) if type(leaf) in PLAIN_TYPES and is_ordinary(leaf)}


def changed_inputs(arguments: Mapping[str, Tensor], inputs: Any, limit: int | None) -> dict[str, Tensor]:
    """Those of a call's arguments that are no longer bit for bit what they were, by path.

    Args:
        arguments: of `readable_leaves`, taken before the call.
        inputs: what the arguments were cloned from.
        limit: elements compared at once; None: what suits the device.
    """
    before = readable_leaves(inputs)
    return {path: leaf for path, leaf in arguments.items() if not _equal(leaf, before[path], limit)}


def modification_warnings(
    kernel: Mapping[str, Tensor], ref: Mapping[str, Tensor], limit: int | None
) -> tuple[Reason, ...]:
    """Warnings about the inputs that the sides overwrite; the kernel may do what the reference does.

    Args:
        kernel: of `changed_inputs`.
        ref: likewise.
        limit: elements compared at once; None: what suits the device.
    """
    own = [path for path, leaf in kernel.items() if path not in ref or not _equal(leaf, ref[path], limit)]
    return (*_modifies("kernel", own), *_modifies("ref", list(ref)))


def _modifies(side: Side, paths: list[str]) -> list[Reason]:
    if not paths:
        return []
    message = (
        f"the {_NAMES[side]} overwrites its inputs ({', '.join(paths[:4])}): in the timing runs later calls see what "
        "earlier ones wrote"
    )
    return [Reason(code=f"{side}_modifies_inputs", message=message, hint="Write to a tensor of its own.")]


def aliasing_outputs(result: Any, arguments: Mapping[str, Tensor]) -> frozenset[str]:
    """Paths of the outputs that lie in the memory of an argument."""
    used = {_address(leaf) for leaf in arguments.values()} - {0}
    return frozenset(path for path, leaf in readable_leaves(result, "out").items() if _address(leaf) in used)


def aliasing_notes(kernel: frozenset[str], ref: frozenset[str]) -> list[Reason]:
    """A note for each output that is one of the kernel's inputs, or a part of it, and not so for the reference."""
    message = "is one of the kernel's own inputs, or shares memory with it; the reference's is not"
    return [Reason(code="output_aliases_input", message=f"{path} {message}") for path in sorted(kernel - ref)]


def _address(tensor: Tensor) -> int:
    return plain(tensor).untyped_storage().data_ptr()


def _equal(first: Tensor, second: Tensor, limit: int | None) -> bool:
    one, other = plain(first), plain(second)
    alike = (one.shape, one.dtype, one.device, one.layout) == (other.shape, other.dtype, other.device, other.layout)
    return alike and bits_equal(one, other, limit)
