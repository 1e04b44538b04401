"""The arithmetic of a comparison, one flat piece of an output at a time; all of it in float64.

Nothing here allocates more than a few times its piece. Results are plain numbers that add up over pieces.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import torch
from torch import Tensor

from kprof.collectors.precision.chunks import over_chunks, wide
from kprof.collectors.precision.outliers import Octaves
from kprof.precision_evidence import Tolerance

MAX: Final = sys.float_info.max
"""Errors and values beyond float64's range are recorded as this: JSON has no infinity."""


@dataclass(frozen=True)
class Scale:
    """The reference's own magnitude, over its finite elements."""

    rms: float
    """Over what is left once outliers are left out (`outliers.cutoff_of`)."""
    mean: complex
    finite: int
    """Elements that are neither NaN nor infinite."""
    peak: float = 0.0
    """The largest magnitude, outliers too."""
    left_out: int = 0
    """Outliers that `rms` leaves out."""


@dataclass
class Errors:
    """How far one output is from the reference's. Sums and counts over the pieces seen so far."""

    elements: int = 0
    finite: int = 0
    """Pairs of which both are finite."""
    mismatched: int = 0
    abs_sum: float = 0.0
    abs_max: float = 0.0
    rel_sum: float = 0.0
    rel_max: float = 0.0
    unlike_special: int = 0
    """NaN or infinite on one side, and not the same on the other."""
    equal_nan: int = 0
    equal_inf: int = 0
    nonzero: int = 0
    """Finite, nonzero elements of the reference ..."""
    within_atol: int = 0
    """... and those that are no larger than atol: zero would pass there."""
    worst: float = -1.0
    """Largest error over what is allowed; infinite at an unlike NaN or infinity."""
    worst_flat: int = 0

    def add(self, piece: Errors) -> None:
        """Take in the next piece."""
        if piece.worst > self.worst:
            self.worst, self.worst_flat = piece.worst, self.elements + piece.worst_flat
        self.abs_max, self.rel_max = max(self.abs_max, piece.abs_max), max(self.rel_max, piece.rel_max)
        self.abs_sum, self.rel_sum = self.abs_sum + piece.abs_sum, self.rel_sum + piece.rel_sum
        for name in ("elements", "finite", "mismatched", "unlike_special", "equal_nan", "equal_inf"):
            setattr(self, name, getattr(self, name) + getattr(piece, name))
        self.nonzero += piece.nonzero
        self.within_atol += piece.within_atol


def scale_of(ref: Tensor, limit: int | None) -> Scale:
    """Root mean square, outliers left out, and mean of the finite elements."""
    octaves = Octaves() if ref.is_floating_point() or ref.is_complex() else None
    whole = _scale_below(math.inf, ref, limit, octaves)
    cutoff = octaves.cutoff() if octaves else math.inf
    if cutoff > whole.peak:
        return whole
    body = _scale_below(cutoff, ref, limit, None)
    return replace(whole, rms=body.rms, left_out=whole.finite - body.finite)


def _scale_below(cutoff: float, ref: Tensor, limit: int | None, octaves: Octaves | None) -> Scale:
    """Over finite elements of a magnitude below ``cutoff``.

    The sum of squares is kept relative to the largest value seen, as in BLAS's nrm2: no overflow, no underflow.
    """
    largest, squares, finite, total = 0.0, 0.0, 0, 0j
    for peak, share, count, piece_total in over_chunks(partial(_piece_scale, cutoff, octaves), limit, ref):
        if peak > largest:
            squares, largest = squares * (largest / peak) ** 2, peak
        if largest > 0.0:
            squares += share * (peak / largest) ** 2
        finite += count
        total += piece_total
    if finite == 0:
        return Scale(0.0, 0j, 0)
    return Scale(largest * math.sqrt(squares / finite), total / finite, finite, largest)


def _piece_scale(cutoff: float, octaves: Octaves | None, ref: Tensor) -> tuple[float, float, int, complex]:
    """Largest magnitude, sum of squares relative to it, count and sum, over finite elements below ``cutoff``."""
    values = wide(ref)
    peak = float(values.abs().max())
    if not peak < cutoff:
        values = values[torch.isfinite(values) & (values.abs() < cutoff)]
        if values.numel() == 0:
            return 0.0, 0.0, 0, 0j
        peak = min(float(values.abs().max()), MAX)
    share = float((values.abs() / peak).square().sum()) if peak > 0.0 else 0.0
    found = peak, share, values.numel(), complex(values.sum().item())
    if octaves is not None:
        octaves.add(
            values.abs().clamp(max=MAX)
        )  # Last: a piece that runs out of memory is done again and must count once.
    return found


def errors_of(kernel: Tensor, ref: Tensor, tolerance: Tolerance, limit: int | None) -> Errors:
    """Compare two tensors of equal shape and dtype.

    An atol of 0 asks for equal values. Relative errors are over ``max(|ref|, atol)``, with 1 for such an atol.
    """
    errors = Errors()
    measure = partial(_exact_piece, tolerance) if tolerance.atol == 0.0 else partial(_close_piece, tolerance)
    for piece in over_chunks(measure, limit, kernel, ref):
        errors.add(piece)
    return errors


def _exact_piece(_: Tolerance, kernel: Tensor, ref: Tensor) -> Errors:
    unequal = kernel != ref
    # Neighbours above 2^53 are one number in float64, so an unequal pair is off by at least 1.
    error = torch.where(unequal, (wide(kernel) - wide(ref)).abs().clamp(min=1.0), 0.0)
    relative = error / wide(ref).abs().clamp(min=1.0)
    worst = int(error.argmax())
    sums = torch.stack([error.sum(), error.max(), relative.sum(), relative.max(), (ref != 0).sum()]).tolist()
    return Errors(
        elements=ref.numel(),
        finite=ref.numel(),
        mismatched=int(unequal.sum()),
        abs_sum=sums[0],
        abs_max=sums[1],
        rel_sum=sums[2],
        rel_max=sums[3],
        nonzero=int(sums[4]),
        worst=float(error[worst]),
        worst_flat=worst,
    )


def _close_piece(tolerance: Tolerance, kernel: Tensor, ref: Tensor) -> Errors:
    ours, theirs = wide(kernel), wide(ref)
    both = torch.isfinite(ours) & torch.isfinite(theirs)
    error = torch.where(both, (ours - theirs).abs(), 0.0).clamp(max=MAX)
    size = torch.where(both, theirs.abs(), 0.0).clamp(max=MAX)
    allowed = tolerance.atol + tolerance.rtol * size
    relative = (error / size.clamp(min=tolerance.atol)).clamp(max=MAX)
    badness = error / allowed
    errors = Errors(elements=ref.numel())
    if not bool(both.all()):
        equal = ~both & (_special(ours) == _special(theirs))
        unlike = ~both & ~equal
        badness = torch.where(unlike, math.inf, badness)
        errors.unlike_special = int(unlike.sum())
        errors.equal_nan = int((equal & torch.isnan(theirs)).sum())
        errors.equal_inf = int(equal.sum()) - errors.equal_nan
    worst = badness.argmax()
    numbers = [both.sum(), (error > allowed).sum(), error.sum(), error.max(), relative.sum(), relative.max()]
    numbers += [(size > 0).sum(), ((size > 0) & (size <= tolerance.atol)).sum(), badness[worst], worst]
    found = torch.stack([number.to(torch.float64) for number in numbers]).tolist()
    errors.finite, errors.mismatched = int(found[0]), int(found[1]) + errors.unlike_special
    errors.abs_sum, errors.abs_max, errors.rel_sum, errors.rel_max = (min(value, MAX) for value in found[2:6])
    errors.nonzero, errors.within_atol = int(found[6]), int(found[7])
    errors.worst, errors.worst_flat = found[8], int(found[9])
    return errors


def _special(values: Tensor) -> Tensor:
    """0 for finite, 1 NaN, 2 and 3 the infinities; real and imaginary parts of a complex value apart."""
    if values.is_complex():
        return 4 * _special(values.real) + _special(values.imag)
    kinds = torch.isnan(values).to(torch.uint8)
    return kinds + 2 * (values == math.inf).to(torch.uint8) + 3 * (values == -math.inf).to(torch.uint8)


def agrees(answer: Tensor, ref: Tensor, tolerance: Tolerance, limit: int | None) -> bool:
    """``answer`` would pass for ``ref``; stops at the first piece that does not."""
    exact = tolerance.atol == 0.0
    answer = answer if answer.shape == ref.shape else answer.expand(ref.shape)
    measure = partial(_exact_piece if exact else _close_piece, tolerance)
    return all(piece.mismatched == 0 for piece in over_chunks(measure, limit, answer, ref))


def excess_of(result: Tensor, yardstick: Tensor, tolerance: Tolerance, limit: int | None) -> tuple[float | None, float]:
    """Largest absolute error against a float64 run, and the largest of those that the tolerance does not allow.

    Returns:
        None first where no pair is finite; 0 second where all are within tolerance.
    """
    largest: float | None = None
    beyond = 0.0
    for count, error, excess in over_chunks(partial(_piece_excess, tolerance), limit, result, yardstick):
        if count:
            largest = max(error, largest or 0.0)
        beyond = max(beyond, excess)
    return largest, beyond


def _piece_excess(tolerance: Tolerance, result: Tensor, yardstick: Tensor) -> tuple[int, float, float]:
    ours, exact = wide(result), wide(yardstick)
    both = torch.isfinite(ours) & torch.isfinite(exact)
    error = torch.where(both, (ours - exact).abs(), 0.0).clamp(max=MAX)
    allowed = tolerance.atol + tolerance.rtol * torch.where(both, ours.abs(), 0.0)
    excess = torch.where(error > allowed, error, 0.0)
    return int(both.sum()), float(error.max()), float(excess.max())
