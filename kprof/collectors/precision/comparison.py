"""Compares the kernel's output with the reference's: structure exactly, values within stated tolerances.

A trial passes when `Comparison.mismatches` is empty. Some mismatches say that nothing could be judged, not that the
kernel is wrong: NaN or infinity at equal places on both sides (unless that is allowed), or no value at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from kprof.collectors.precision.elements import MAX, Errors, Scale, agrees, errors_of, scale_of
from kprof.collectors.precision.structure import PLAIN_TYPES, LeafPair, Pairing, pair_leaves, plain
from kprof.collectors.precision.tolerances import TOLERANCES, tolerance_for
from kprof.evidence import Reason
from kprof.precision_evidence import Mismatch, Tolerance
from kprof.trees import is_ordinary, tensor_leaves

VALUE_CODES: Final = frozenset({"value_mismatch", "nonfinite_mismatch"})
SMALL_SHARE: Final = 0.1
"""Share of the reference's nonzero elements below atol from which a note says that a zero there would pass. bf16's
2e-2 of the root mean square leaves 1.6 % of normally distributed values there."""
LARGE_SHARE: Final = 0.5
"""Share of them, outliers left out, from which zeros in their place are a trivial answer."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Fields as in `kprof.precision_evidence.PrecisionTrial`."""

    mismatches: tuple[Mismatch, ...]
    tolerances: tuple[Tolerance, ...]
    elements: int
    mismatched_elements: int | None
    max_abs_error: float | None
    mean_abs_error: float | None
    max_rel_error: float | None
    mean_rel_error: float | None
    worst_over_tolerance: float | None
    worst_output: str | None
    worst_index: tuple[int, ...] | None
    worst_kernel_value: float | None
    """Of a complex value its magnitude; None where it is NaN or infinite."""
    worst_ref_value: float | None
    nonfinite_elements: int
    vacuous_controls: tuple[str, ...]
    notes: tuple[Reason, ...]


@dataclass(frozen=True)
class _Leaf:
    """One output, compared."""

    pair: LeafPair
    scale: Scale
    tolerance: Tolerance
    errors: Errors


def compare_trees(
    kernel: Any,
    ref: Any,
    *,
    inputs: Sequence[Any] = (),
    widened: Mapping[str, float] | None = None,
    allow_nonfinite: bool = False,
    chunk_elements: int | None = None,
) -> Comparison:
    """Compare two outputs.

    Args:
        kernel: the kernel's output; tensors that are not plain are not touched.
        ref: the reference's.
        inputs: what both were given; an input that would pass as the answer is named in ``vacuous_controls``.
        widened: least atol by path of output, where the reference itself is off by half of that.
        allow_nonfinite: NaN and infinity at equal places are notes instead of mismatches.
        chunk_elements: elements compared at once; None: what suits the device.
    """
    pairing = pair_leaves(kernel, ref)
    limit = chunk_elements
    leaves = [_compare(pair, (widened or {}).get(pair.where, 0.0), limit) for pair in map(_as_bits, pairing.pairs)]
    mismatches, notes = list(pairing.mismatches), list(pairing.notes)
    for leaf in leaves:
        mismatches += _value_mismatches(leaf)
        equal = _equal_specials(leaf)
        if allow_nonfinite:
            notes += [Reason(code=one.code, message=f"{one.where}: {one.message}") for one in equal]
        else:
            mismatches += equal
        notes += _small_elements(leaf)
    if not mismatches and not any(leaf.errors.elements for leaf in leaves) and not pairing.equal_values:
        mismatches.append(_nothing_compared(pairing))
    complete = bool(leaves) and not pairing.mismatches
    controls = _vacuous_controls(leaves, inputs, limit) if complete else ()
    return _summary(leaves, tuple(mismatches), tuple(notes), controls)


def _as_bits(pair: LeafPair) -> LeafPair:
    """Floating types without a tolerance are compared as the bytes they are."""
    if pair.contract in TOLERANCES or not pair.ref.is_floating_point():
        return pair
    return LeafPair(pair.where, pair.kernel.view(torch.uint8), pair.ref.view(torch.uint8), pair.contract)


def _compare(pair: LeafPair, widened: float, limit: int | None) -> _Leaf:
    scale = scale_of(pair.ref, limit)
    tolerance = tolerance_for(pair.where, pair.contract, pair.contract, scale.rms, widened)
    return _Leaf(pair, scale, tolerance, errors_of(pair.kernel, pair.ref, tolerance, limit))


def _value_mismatches(leaf: _Leaf) -> list[Mismatch]:
    errors, where = leaf.errors, leaf.pair.where
    if not errors.mismatched:
        return []
    found = []
    if errors.unlike_special:
        counts = f"{errors.unlike_special} of {errors.elements} elements are NaN or infinite on one side only or unlike"
        found.append(Mismatch(code="nonfinite_mismatch", where=where, message=counts))
    beyond = errors.mismatched - errors.unlike_special
    if beyond:
        bound = "differ"
        if leaf.tolerance.atol > 0.0:
            bound = f"differ by more than {leaf.tolerance.atol:.3g} + {leaf.tolerance.rtol:g} * |ref|"
        message = f"{beyond} of {errors.elements} elements {bound}"
        found.append(Mismatch(code="value_mismatch", where=where, message=message))
    return found


def _equal_specials(leaf: _Leaf) -> list[Mismatch]:
    counts = (("nan_equals_nan", leaf.errors.equal_nan, "NaN"), ("inf_equals_inf", leaf.errors.equal_inf, "infinite"))
    return [
        Mismatch(code=code, where=leaf.pair.where, message=f"both sides are {what} at the same places")
        for code, count, what in counts
        if count
    ]


def _small_elements(leaf: _Leaf) -> list[Reason]:
    if leaf.tolerance.atol == 0.0 or leaf.errors.within_atol <= SMALL_SHARE * leaf.errors.nonzero:
        return []
    message = (
        f"{leaf.pair.where}: over {SMALL_SHARE:.0%} of the reference's nonzero elements are no larger than the "
        "absolute tolerance, so a zero there would pass"
    )
    return [Reason(code="elements_below_tolerance", message=message)]


def _nothing_compared(pairing: Pairing) -> Mismatch:
    if pairing.pairs:
        return Mismatch(code="both_empty", where="out", message="neither side gives any element, so nothing is shown")
    return Mismatch(code="nothing_to_compare", where="out", message="neither side returns any value to compare")


def _summary(
    leaves: list[_Leaf], mismatches: tuple[Mismatch, ...], notes: tuple[Reason, ...], controls: tuple[str, ...]
) -> Comparison:
    finite = sum(leaf.errors.finite for leaf in leaves)
    compared = [leaf for leaf in leaves if leaf.errors.elements]
    worst = max(compared, key=lambda leaf: leaf.errors.worst, default=None)
    index = _index_of(worst) if worst else None
    return Comparison(
        mismatches=mismatches,
        tolerances=tuple(leaf.tolerance for leaf in leaves),
        elements=sum(leaf.errors.elements for leaf in leaves),
        mismatched_elements=sum(leaf.errors.mismatched for leaf in leaves) if compared else None,
        max_abs_error=max(leaf.errors.abs_max for leaf in leaves) if finite else None,
        mean_abs_error=min(sum(leaf.errors.abs_sum for leaf in leaves) / finite, MAX) if finite else None,
        max_rel_error=max(leaf.errors.rel_max for leaf in leaves) if finite else None,
        mean_rel_error=min(sum(leaf.errors.rel_sum for leaf in leaves) / finite, MAX) if finite else None,
        worst_over_tolerance=min(worst.errors.worst, MAX) if worst else None,
        worst_output=worst.pair.where if worst else None,
        worst_index=index,
        worst_kernel_value=_finite(worst.pair.kernel[index]) if worst and index is not None else None,
        worst_ref_value=_finite(worst.pair.ref[index]) if worst and index is not None else None,
        nonfinite_elements=sum(leaf.errors.elements - leaf.scale.finite for leaf in leaves),
        vacuous_controls=controls,
        notes=notes,
    )


def _index_of(leaf: _Leaf) -> tuple[int, ...]:
    flat, index = leaf.errors.worst_flat, []
    for size in reversed(leaf.pair.ref.shape):
        flat, position = divmod(flat, size)
        index.append(position)
    return tuple(reversed(index))


def _finite(element: Tensor) -> float | None:
    value = element.item()
    number = abs(value) if isinstance(value, complex) else float(value)
    return number if abs(number) <= MAX else None


def _vacuous_controls(leaves: list[_Leaf], inputs: Sequence[Any], limit: int | None) -> tuple[str, ...]:
    """Trivial answers that pass for the whole output under the same tolerances."""
    candidates = [
        plain(tensor)
        for _, tensor in tensor_leaves(list(inputs))
        if type(tensor) in PLAIN_TYPES and is_ordinary(tensor)
    ]
    controls: dict[str, Callable[[_Leaf], bool]] = {
        "zeros": lambda leaf: _passes(leaf, 0.0, limit),
        # The mean of one element is that element: one alone shows nothing.
        "constant": lambda leaf: _passes(leaf, leaf.scale.mean if leaf.errors.elements > 1 else 0.0, limit),
        "input": lambda leaf: any(_input_passes(leaf, candidate, limit) for candidate in candidates),
    }
    compared = [leaf for leaf in leaves if leaf.errors.elements]
    passed = [name for name, passes in controls.items() if compared and all(passes(leaf) for leaf in compared)]
    if not passed and any(_small_as_zeros_pass(leaf) for leaf in compared):
        passed.append("small_as_zeros")
    return tuple(passed)


def _small_as_zeros_pass(leaf: _Leaf) -> bool:
    """Zeros where the reference is no larger than atol always pass: it matters where that is most of the output."""
    errors = leaf.errors
    if leaf.tolerance.atol == 0.0 or errors.within_atol <= SMALL_SHARE * errors.nonzero:
        return False
    return errors.within_atol > LARGE_SHARE * (errors.nonzero - leaf.scale.left_out)


def _passes(leaf: _Leaf, value: complex, limit: int | None) -> bool:
    """The same value everywhere, as the output's own type holds it."""
    ref = leaf.pair.ref
    number = value if ref.is_complex() else value.real
    if not ref.is_floating_point() and not ref.is_complex():
        number = float(round(value.real))
    wide_type = torch.complex128 if ref.is_complex() else torch.float64
    answer = torch.tensor(number, dtype=wide_type, device=ref.device).to(ref.dtype)
    return agrees(answer, ref, leaf.tolerance, limit)


def _input_passes(leaf: _Leaf, candidate: Tensor, limit: int | None) -> bool:
    ref = leaf.pair.ref
    same = candidate.shape == ref.shape and candidate.dtype == ref.dtype and candidate.device == ref.device
    return same and agrees(candidate, ref, leaf.tolerance, limit)
