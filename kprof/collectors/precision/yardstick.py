"""The reference run in float64, as the yardstick for the errors of both sides.

Its result counts only where the whole run was in float64: no part of it cast down, nothing drawn at random (another
type draws other numbers), every floating output in float64.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from kprof.collectors.precision.chunks import is_out_of_memory
from kprof.collectors.precision.elements import excess_of, scale_of
from kprof.collectors.precision.structure import PLAIN_TYPES, plain
from kprof.collectors.precision.weights import uncompiled
from kprof.collectors.synchronise import synchronise
from kprof.errors import first_line
from kprof.evidence import Reason
from kprof.precision_evidence import Tolerance
from kprof.trees import clone_tree, is_ordinary, map_tensors, shape_of, tensor_leaves

_WIDE: Final = (torch.float64, torch.complex128)
WIDENING: Final = 2.0
"""A kernel more exact than the reference differs from it by the reference's own error; twice that leaves room for
other values in later trials."""

ELSEWHERE: Final = 1024.0
"""Times the reference's largest value from which an error shows no rounding but another computation in float64, such
as a mask of `torch.finfo(x.dtype).min`."""


class YardstickError(Exception):
    """There is no float64 run to compare with."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.reason = Reason(code=code, message=message)


@dataclass(frozen=True)
class Fp64Errors:
    """Largest absolute errors against the float64 run, over finite elements of all floating outputs."""

    kernel: float | None = None
    ref: float | None = None
    reason: Reason | None = None
    """Why either is None."""
    widened: Mapping[str, float] = field(default_factory=dict)
    """Least atol by path of output, where the reference is off its float64 run by more than the tolerance."""
    notes: tuple[Reason, ...] = ()


def run_in_float64(ref: Any, inputs: Sequence[Any], device: torch.device) -> Any:
    """The output of a copy of ``ref`` with parameters, buffers and floating inputs in float64.

    Raises:
        YardstickError: it raised, ran out of memory, or was not in float64 throughout.
        RuntimeError: the device itself can no longer be used.
    """
    default = torch.get_default_dtype()
    watch = _PrecisionWatch()
    random_before = random_state(device)
    try:
        torch.set_default_dtype(torch.float64)
        exact = _in_float64(uncompiled(ref))
        arguments = [map_tensors(value, _widened) for value in clone_tree(list(inputs))]
        with torch.no_grad(), watch:
            result = exact(*arguments)
        synchronise(device)
    except (Exception, SystemExit) as error:  # The reference may raise anything in a type it was not written for.
        synchronise(device)  # Raises where the context is lost: that is more than a missing yardstick.
        if is_out_of_memory(error):
            raise YardstickError("fp64_out_of_memory", "the reference in float64 does not fit in memory") from error
        message = f"the reference in float64 raised {type(error).__name__}: {first_line(error)}"
        raise YardstickError("fp64_reference_failed", message) from error
    finally:
        torch.set_default_dtype(default)
    if watch.lost_in is not None:
        message = f"the reference leaves float64 by itself (in {watch.lost_in})"
        raise YardstickError("fp64_reference_casts_down", message)
    if not torch.equal(random_before, random_state(device)):
        raise YardstickError("fp64_reference_random", "the reference draws random numbers, other ones in float64")
    return result


def fp64_errors(
    kernel: Any, ref: Any, yardstick: Any, tolerances: Sequence[Tolerance], limit: int | None = None
) -> Fp64Errors:
    """Errors of both outputs against a float64 run.

    Args:
        kernel: the kernel's output; one that does not match has no error.
        ref: the reference's.
        yardstick: of `run_in_float64`.
        tolerances: of the reference's outputs, before any widening.
        limit: elements compared at once; None: what suits the device.
    """
    exact = dict(tensor_leaves(yardstick, "out"))
    ours, theirs = dict(tensor_leaves(kernel, "out")), dict(tensor_leaves(ref, "out"))
    unlike = [path for path, leaf in theirs.items() if not is_ordinary(leaf)]
    if unlike:
        message = f"{unlike[0]} of the reference is sparse, nested or quantized: its errors are not measured"
        return Fp64Errors(reason=Reason(code="fp64_layout", message=message))
    kernel_errors, ref_errors = _Largest(), _Largest()
    widened: dict[str, float] = {}
    floating = [path for path, leaf in theirs.items() if leaf.is_floating_point() or leaf.is_complex()]
    if not floating:
        return Fp64Errors(reason=Reason(code="no_floating_output", message="the reference gives whole numbers only"))
    by_path = {one.where: one for one in tolerances}
    for path in floating:
        leaf, wanted = exact.get(path), theirs[path]
        if leaf is None or not is_ordinary(leaf) or leaf.shape != wanted.shape or leaf.dtype not in _WIDE:
            message = f"{path} of the reference in float64 is {_described(leaf)}; {_described(wanted)} was wanted in it"
            return Fp64Errors(reason=Reason(code="fp64_reference_differs", message=message))
        bound = by_path.get(path) or Tolerance(where=path, dtype="", atol=0.0, rtol=0.0, scale=0.0)
        error, excess = excess_of(plain(wanted), leaf, bound, limit)
        if excess > 0.0 and not excess <= ELSEWHERE * scale_of(plain(wanted), limit).peak:
            message = f"{path} of the reference in float64 is far beyond its own largest value, off by {excess:.3g}"
            return Fp64Errors(reason=Reason(code="fp64_reference_differs", message=message))
        ref_errors.take(error)
        if excess > 0.0 and bound.atol > 0.0:
            widened[path] = WIDENING * excess
        kernel_errors.take(_kernel_error(ours.get(path), leaf, bound, limit))
    return Fp64Errors(
        kernel=kernel_errors.value,
        ref=ref_errors.value,
        reason=_why_absent(kernel_errors, ref_errors),
        widened=widened,
        notes=tuple(_widening_note(path, atol) for path, atol in widened.items()),
    )


class _Largest:
    """The largest of several errors; None once one is missing."""

    def __init__(self) -> None:
        self._errors: list[float | None] = []

    def take(self, error: float | None) -> None:
        self._errors.append(error)

    @property
    def value(self) -> float | None:
        known = [error for error in self._errors if error is not None]
        return max(known) if known and len(known) == len(self._errors) else None


def _kernel_error(leaf: Tensor | None, exact: Tensor, bound: Tolerance, limit: int | None) -> float | None:
    if (
        leaf is None
        or type(leaf) not in PLAIN_TYPES
        or not is_ordinary(leaf)
        or leaf.shape != exact.shape
        or leaf.device != exact.device
    ):
        return None
    return excess_of(plain(leaf), exact, bound, limit)[0]


def _why_absent(kernel: _Largest, ref: _Largest) -> Reason | None:
    if ref.value is None:
        return Reason(code="no_finite_elements", message="an output has no element that is finite in float64 too")
    if kernel.value is None:
        return Reason(code="kernel_output_differs", message="the kernel's output is not like the reference's")
    return None


def _widening_note(path: str, atol: float) -> Reason:
    message = (
        f"{path}: the reference is off its own float64 run by {atol / WIDENING:.3g}, more than the tolerance allows, "
        f"so atol is at least {atol:.3g}"
    )
    return Reason(code="tolerance_widened", message=message)


def _in_float64(ref: Any) -> Any:
    if not isinstance(ref, torch.nn.Module):
        return ref
    exact = copy.deepcopy(ref)
    with torch.no_grad():
        for tensor in (*exact.parameters(), *exact.buffers()):
            tensor.data = _widened(tensor.data)
        for module in exact.modules():
            for name, value in list(vars(module).items()):
                if name not in _MODULE_INTERNALS and tensor_leaves(value):
                    vars(module)[name] = map_tensors(value, _widened)
    return exact


_MODULE_INTERNALS: Final = frozenset(vars(torch.nn.Module()))


def _widened(tensor: Tensor) -> Tensor:
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.to(torch.float64) if tensor.is_floating_point() else tensor


def _described(leaf: Tensor | None) -> str:
    return "no tensor" if leaf is None else f"{str(leaf.dtype).removeprefix('torch.')} {shape_of(leaf)}"


def random_state(device: torch.device) -> Tensor:
    """The state of torch's generators that code on ``device`` draws from."""
    host = torch.get_rng_state()
    return torch.cat([host, torch.cuda.get_rng_state(device)]) if device.type == "cuda" else host


class _PrecisionWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notices the first operator that takes float64 and gives a lower precision."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Torch would import its compiler, seconds of work, to keep it out of a function that it never compiles.
        return False

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lost_in: str | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self.lost_in is None and _has(result, wide=False) and _has((args, kwargs), wide=True):
            self.lost_in = str(func)
        return result


def _has(tree: Any, *, wide: bool) -> bool:
    """A floating tensor in float64 (complex128), or in something narrower."""
    return any(
        (leaf.dtype in _WIDE) is wide
        for _, leaf in tensor_leaves(tree)
        if leaf.is_floating_point() or leaf.is_complex()
    )
