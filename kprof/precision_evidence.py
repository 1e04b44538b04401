"""The evidence of whether the kernel's results are the reference's: trials, tolerances, mismatches."""

from __future__ import annotations

from typing import Final, Literal

from kprof.evidence import Reason, Record

INCONCLUSIVE_CODES: Final = frozenset(
    {"nan_equals_nan", "inf_equals_inf", "both_empty", "nothing_to_compare", "unsupported_output"}
)
"""Mismatches that say nothing about the kernel: they make a trial neither wrong nor passed."""


class Mismatch(Record, frozen=True, kw_only=True):
    """One way in which the kernel's result is not the reference's."""

    code: str
    where: str
    """Path of the output: ``out``, ``out[1]``, ``out['mask']``."""
    message: str


class Tolerance(Record, frozen=True, kw_only=True):
    """What counts as equal for one output of one trial: ``|kernel - ref| <= atol + rtol * |ref|``."""

    where: str
    dtype: str
    atol: float
    rtol: float
    scale: float
    """Root mean square of the reference's finite values, which ``atol`` is proportional to."""


class PrecisionTrial(Record, frozen=True, kw_only=True):
    """One comparison with fresh values: kernel, reference, kernel again, on clones of the same inputs."""

    seed: int
    shapes: tuple[tuple[int, ...], ...]
    mismatches: tuple[Mismatch, ...] = ()
    """Empty: everything agreed."""
    tolerances: tuple[Tolerance, ...] = ()
    elements: int = 0
    mismatched_elements: int | None = None
    max_abs_error: float | None = None
    mean_abs_error: float | None = None
    max_rel_error: float | None = None
    """Largest ``|kernel - ref| / max(|ref|, atol)`` over finite pairs."""
    mean_rel_error: float | None = None
    worst_over_tolerance: float | None = None
    """Largest error over what is allowed there; the error itself where none is. The ``worst_*`` are that element's."""
    worst_output: str | None = None
    worst_index: tuple[int, ...] | None = None
    worst_kernel_value: float | None = None
    worst_ref_value: float | None = None
    deterministic: bool | None = None
    """The kernel's two results were equal bit for bit."""
    nonfinite_elements: int = 0
    """Elements of the reference that are NaN or infinite."""
    vacuous_controls: tuple[str, ...] = ()
    """Trivial answers that would have passed too: ``zeros``, ``constant``, ``input``, ``small_as_zeros``."""
    notes: tuple[Reason, ...] = ()
    """What was seen and does not fail: strides that differ, infinities at equal places."""


class PrecisionEvidence(Record, frozen=True, kw_only=True):
    trials: tuple[PrecisionTrial, ...] = ()
    """In the order they ran. Of very many only some, those that fail before the others, the worst always among them."""
    trials_requested: int = 0
    trials_run: int | None = None
    """Trials that ran to their end; None: all are in ``trials``."""
    trials_agreed: int | None = None
    """Those of them without a mismatch; None: count them in ``trials``."""
    left_out: PrecisionTrial | None = None
    """What ``trials`` leaves out, as one: counts added, errors combined, each mismatch and note once."""
    weights: Literal["none", "as_constructed", "copied_by_name", "copied_by_shape", "not_comparable"] | None = None
    """How the kernel came by the reference's parameters."""
    kernel_error_vs_fp64: float | None = None
    """Largest absolute error of the kernel against the reference run in float64."""
    ref_error_vs_fp64: float | None = None
    fp64_reason: Reason | None = None
    poisoned: str | None = None
    """How fresh memory was filled with NaN before the kernel ran; None: it was not."""
    warnings: tuple[Reason, ...] = ()
