"""Precision traded silently: TF32 or half precision under a contract of fp32, by error against fp64 and by counters."""

from __future__ import annotations

from typing import Final

from kprof.blocks.counter_analysis import CounterAnalysis
from kprof.blocks.integrity.check import Check, advise, unknown
from kprof.capture import Capture
from kprof.evidence import Reason, Side
from kprof.precision_evidence import INCONCLUSIVE_CODES, PrecisionEvidence

NAME: Final = "precision_traded"
TRADED_RATIO: Final = 16.0
TRADED_SHARE: Final = 2.0**-15
"""A kernel whose error against fp64 is so many times the reference's, and over this share of the result's own size,
computes in a lower precision than its types say: fp32 rounds at 2^-24, TF32 and fp16 at 2^-11."""
AS_EXACT_RATIO: Final = 4.0
"""A kernel whose error is within so many times the reference's gave nothing up, whatever it computed with: several
products of TF32 or bf16 parts make one as exact as fp32's."""
_EXACT: Final = ("float32", "float64")
_NARROW: Final = ("tf32", "fp16", "bf16", "fp8", "fp6", "fp4")
"""Source types of the tensor cores that are narrower than fp32, by what their names begin with."""
_WRONG: Final = Reason(code="wrong_anyway", message="the result is wrong, whatever its type: see the block precision")
_NOT_MEASURED: Final = Reason(
    code="error_not_measured", message="the error against fp64 was not measured (block precision)"
)


def precision_traded(capture: Capture, counters: CounterAnalysis) -> Check:
    """Within tolerance, and yet computed in a lower precision than its types say."""
    wrong = _is_wrong(capture.precision)
    by_error, narrow = "" if wrong else _by_error(capture.precision), _by_counters(capture, counters)
    as_exact = _as_exact(capture.precision)
    told = [one for one in (by_error, "" if as_exact else narrow) if one]
    if told:
        return advise(NAME, "; ".join(told))
    if wrong:
        return unknown(NAME, _WRONG, "advisory")
    if by_error is None:
        reason = (capture.precision.fp64_reason if capture.precision is not None else None) or _NOT_MEASURED
        return unknown(NAME, reason, "advisory")
    detail = f"{narrow}, and yet its error against fp64 is like the reference's" if narrow else ""
    return Check(name=NAME, severity="advisory", passed=True, detail=detail)


def _is_wrong(precision: PrecisionEvidence | None) -> bool:
    """Some result is out of tolerance: its error says nothing of the type that it was computed in."""
    trials = precision.trials if precision is not None else ()
    return any({one.code for one in trial.mismatches} - INCONCLUSIVE_CODES for trial in trials)


def _by_error(precision: PrecisionEvidence | None) -> str | None:
    """What its error says against it; empty: nothing; None: nobody knows the error."""
    if precision is None or precision.kernel_error_vs_fp64 is None or precision.ref_error_vs_fp64 is None:
        return None
    tolerances = [one for trial in precision.trials[:1] for one in trial.tolerances]
    scale = max((one.scale for one in tolerances), default=0.0)
    kernel, ref = precision.kernel_error_vs_fp64, precision.ref_error_vs_fp64
    exact = all(one.dtype in _EXACT for one in tolerances)
    traded = exact and kernel > TRADED_RATIO * ref and kernel > TRADED_SHARE * scale > 0.0
    told = f"its error against fp64 is {kernel:.3g}, the reference's {ref:.3g}: it computes in a lower precision"
    return told if traded else ""


def _as_exact(precision: PrecisionEvidence | None) -> bool:
    if precision is None or precision.kernel_error_vs_fp64 is None or precision.ref_error_vs_fp64 is None:
        return False
    return precision.kernel_error_vs_fp64 <= AS_EXACT_RATIO * precision.ref_error_vs_fp64


def _by_counters(capture: Capture, counters: CounterAnalysis) -> str:
    """What its tensor operations say against it; empty: nothing, or they were not counted for both sides."""
    inputs = capture.workload.inputs if capture.workload is not None else ()
    floating = [one.dtype for one in inputs if one.dtype is not None and "float" in one.dtype]
    if not floating or any(dtype not in _EXACT for dtype in floating):
        return ""
    ours, theirs = _narrow_flop(counters, "kernel"), _narrow_flop(counters, "ref")
    if not ours or theirs is None or theirs:
        return ""
    counted = ", ".join(f"{count:.4g} FLOP of {source}" for source, count in ours.items())
    contract = " and ".join(sorted(set(floating)))
    return f"its tensor cores do {counted}, where all inputs are {contract} and the reference's do none such"


def _narrow_flop(counters: CounterAnalysis, side: Side) -> dict[str, float] | None:
    """Tensor operations of types narrower than fp32, those that ran; None: they were not counted."""
    if not counters.of_side(side):
        return None
    analysis = counters.main if side == "kernel" else counters.ref
    assert analysis is not None
    quantities = analysis.profile.quantities
    if not quantities.tensor_flop:
        return {} if quantities.tensor_is_idle else None
    return {source: count for source, count in quantities.tensor_flop.items() if count and source.startswith(_NARROW)}
