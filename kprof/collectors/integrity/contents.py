"""The values that looked-at calls are given, and how they are written where the usual ones were.

Values never seen come from ``get_inputs()`` under a seed that nobody can foresee. Where that takes long, further ones
are made of those on the device, by rolling the elements between the first and the last. The same exchange makes values
with the fingerprint of the usual ones: first, last, sum and shape stay.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Tensor

from kprof.collectors.precision.structure import PLAIN_TYPES, plain
from kprof.evidence import Reason
from kprof.integrity_evidence import Values
from kprof.trees import bytes_of, clone_tensor, is_ordinary, map_tensors, shape_of, tensor_leaves
from kprof.workload import LoadedWorkload, WorkloadError

_LEAST_ELEMENTS: Final = 8
_MOST_FRESH: Final = 8
_FRESH_S: Final = 0.3
"""Time for making fresh inputs, the first set aside."""
_FRESH_BYTES: Final = 256_000_000
"""Bytes of fresh inputs that are kept, the first set aside."""
_SWAP_TRIES: Final = 6
_SMALL_ELEMENTS: Final = 1_000_000

NOT_REFILLABLE: Final = Reason(
    code="inputs_not_refillable", message="no input is a tensor whose values can be written anew where they are"
)
NO_FLOATS: Final = Reason(
    code="no_floating_inputs",
    message="no floating-point input has elements to exchange; exchanged indices may be invalid",
)


@dataclass(frozen=True)
class Content:
    """Values for one call, made of a set of inputs that is never handed out itself."""

    values: Values
    source: list[Any]
    shift: int = 0
    """Places that interior elements of floating tensors are rolled by; 0: none."""
    swap: tuple[str, int, int] | None = None
    """Path of a tensor and two of its elements that are exchanged."""

    @property
    def derived(self) -> bool:
        """Not from ``get_inputs()`` as it is: what the inputs are to hold true of may not hold."""
        return self.shift != 0 or self.swap is not None

    def expected(self) -> list[Any]:
        """The values, to compare with: not to be handed out."""
        return self.fresh() if self.derived else self.source

    def fresh(self) -> list[Any]:
        """The values in memory of their own."""
        paths = iter([path for path, _ in tensor_leaves(self.source)])
        tree: list[Any] = map_tensors(self.source, lambda leaf: self._changed(next(paths), leaf))
        return tree

    def write_to(self, arguments: list[Any]) -> list[Any]:
        """The values at the addresses of ``arguments``; what is no tensor comes from the source.

        Past the version counter: a kernel must look at its inputs, not at whether torch wrote to them. A tensor that
        cannot be written where it is (sparse, expanded) is one of the source's values in memory of its own, so that
        all inputs of a call are of one set.
        """
        targets = iter([leaf for _, leaf in tensor_leaves(arguments)])
        paths = iter([path for path, _ in tensor_leaves(self.source)])

        def write(leaf: Tensor) -> Tensor:
            target, path = next(targets), next(paths)
            if not is_refillable(target):
                return clone_tensor(leaf)
            target.data.copy_(self._changed(path, leaf, copy=False))
            return target

        tree: list[Any] = map_tensors(self.source, write)
        return tree

    def _changed(self, path: str, leaf: Tensor, *, copy: bool = True) -> Tensor:
        swapped = self.swap is not None and self.swap[0] == path
        if not (swapped or self.shift) or not _exchangeable(leaf):
            return clone_tensor(leaf) if copy else leaf
        changed = clone_tensor(leaf)
        flat = plain(leaf).reshape(-1).clone()
        if swapped and self.swap is not None:
            _, one, other = self.swap
            flat[[one, other]] = flat[[other, one]]
        else:
            flat[1:-1] = flat[1:-1].roll(self.shift)
        changed.copy_(flat.view(leaf.shape))
        return changed


def is_refillable(tensor: Tensor) -> bool:
    """Its values can be written where it is: every element has a place of its own."""
    if type(tensor) not in PLAIN_TYPES or not is_ordinary(tensor):
        return False
    return all(stride or size == 1 for stride, size in zip(tensor.stride(), tensor.shape, strict=True))


def _exchangeable(tensor: Tensor) -> bool:
    return is_refillable(tensor) and tensor.is_floating_point() and tensor.numel() >= _LEAST_ELEMENTS


@dataclass
class ContentMaker:
    """Makes the values of looked-at calls."""

    workload: LoadedWorkload
    base: list[Any]
    """The usual values, untouched."""
    draw: random.Random
    absent: dict[str, Reason] = field(default_factory=dict)
    """Values that cannot be made, and why."""
    _fresh: list[list[Any]] = field(default_factory=list)
    _used: int = 0
    _swapped: set[tuple[str, int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        tensors = [leaf for _, leaf in tensor_leaves(self.base)]
        if not any(map(is_refillable, tensors)):
            self.absent |= dict.fromkeys(("refilled", "swapped"), NOT_REFILLABLE)
        elif not any(map(_exchangeable, tensors)):
            self.absent["swapped"] = NO_FLOATS
        self._make_fresh(sum(map(bytes_of, tensors)))
        if not self._fresh:
            reason = Reason(code="shapes_vary", message="get_inputs() gives other shapes for other seeds")
            self.absent |= {"refilled": reason, "moved": reason}

    def _make_fresh(self, size: int) -> None:
        began = time.monotonic()
        while len(self._fresh) < _MOST_FRESH:
            try:
                made = self.workload.inputs(self.draw.getrandbits(31))
            except WorkloadError:
                return
            if layout(made) != layout(self.base):
                return
            self._fresh.append(made)
            if time.monotonic() - began > _FRESH_S or (len(self._fresh) + 1) * size > _FRESH_BYTES:
                return

    def make(self, values: Values) -> Content:
        """Values for the next call; each differs from all before it, the usual ones aside."""
        if values == "repeated":
            return Content("repeated", self.base)
        if values == "swapped":
            swap = None if self.draw.random() < 0.5 else self._swap()
            return Content("swapped", self.base, 0 if swap else self._shift(), swap)
        index, self._used = self._used, self._used + 1
        if index < len(self._fresh):
            return Content(values, self._fresh[index])
        return Content(values, self.draw.choice(self._fresh), self._shift())

    def _shift(self) -> int:
        return self.draw.randrange(1, 2**30)

    def _swap(self) -> tuple[str, int, int] | None:
        """Two unlike elements whose exchange leaves the sum as it is computed, bit for bit, if such a pair is found."""
        candidates = [(path, plain(leaf)) for path, leaf in tensor_leaves(self.base) if _exchangeable(leaf)]
        path, leaf = self.draw.choice(candidates)
        flat = leaf.reshape(-1)
        total, pair = flat.sum(), None
        # Each try is a pass over all elements.
        tries = _SWAP_TRIES if flat.is_cuda or flat.numel() <= _SMALL_ELEMENTS else 2
        highs, lows = (_extremes(flat, largest, self.draw, tries) for largest in (True, False))
        for high, low in zip(highs, lows, strict=True):
            if (path, high, low) in self._swapped or bool(flat[high] == flat[low]):
                continue
            pair = (path, high, low)
            trial = flat.clone()
            trial[[high, low]] = trial[[low, high]]
            if bool(trial.sum() == total):
                break
        if pair is not None:
            self._swapped.add(pair)
        return pair


def _extremes(flat: Tensor, largest: bool, draw: random.Random, count: int) -> Iterator[int]:
    """Interior places of the largest or the smallest elements, and then of any."""
    inner = flat[1:-1].float()
    yield 1 + int(inner.argmax() if largest else inner.argmin())
    for _ in range(count - 1):
        yield draw.randrange(1, flat.numel() - 1)


def layout(tree: list[Any]) -> list[tuple[str, tuple[int, ...], torch.dtype]]:
    """Path, shape and dtype of each tensor: equal where one tree's values can be written over another's."""
    return [(path, shape_of(leaf), leaf.dtype) for path, leaf in tensor_leaves(tree)]
