"""What is worth knowing of kernels that may well be honest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kprof.blocks.integrity.check import NOT_LOOKED, Check, advise, named, unknown
from kprof.blocks.timing.device_time import off_current_stream
from kprof.capture import Capture
from kprof.evidence import Reason, Side
from kprof.integrity_evidence import IntegrityEvidence
from kprof.kernelnames import is_library_kernel

_MOST_NOTES: Final = 4
TRADED_RATIO: Final = 16.0
TRADED_SHARE: Final = 2.0**-15
"""A kernel whose error against fp64 is so many times the reference's, and over this share of the result's own size,
computes in a lower precision than its types say: fp32 rounds at 2^-24, TF32 and fp16 at 2^-11."""


def advisories(capture: Capture, evidence: IntegrityEvidence) -> Iterator[Check]:
    off = off_current_stream(capture)
    if off is not None:
        told = "the kernel does not launch on torch's current stream"
        yield advise("off_current_stream", told if off else None)
    yield advise("library_fallback", _fallback(capture, evidence))
    called = named(evidence.reference_calls)
    yield advise("calls_reference", f"it calls functions of the reference's file: {called}" if called else None)
    yield _precision_traded(capture)
    yield advise("prints", "it writes to the output in every call" if evidence.prints else None)
    changed = [one for one in _workload_warnings(capture) if one.code == "kernel_changes_settings"]
    yield advise("settings_changed", changed[0].message if changed else None)
    notes = [f"line {note.line}: {note.message} ({note.code})" for note in evidence.notes]
    yield advise("static_notes", "; ".join(notes[:_MOST_NOTES]) if notes else None)


def _workload_warnings(capture: Capture) -> tuple[Reason, ...]:
    return capture.workload.warnings if capture.workload is not None else ()


def _fallback(capture: Capture, evidence: IntegrityEvidence) -> str | None:
    """A file with kernels of its own of which none ran."""
    kind = capture.workload.kind if capture.workload is not None else None
    if kind not in ("cuda", "cpp", "triton") or evidence.extension_calls:
        return None
    launched = _kernel_names(capture, "kernel")
    if launched:
        if all(map(is_library_kernel, launched)):
            return f"only kernels of libraries ran: {named(list(dict.fromkeys(launched)))}"
        return None
    if evidence.extension_calls == 0:
        return "the extension that the file builds was not called"
    return None


def _kernel_names(capture: Capture, side: Side) -> list[str]:
    launches = capture.launches
    of_side = None if launches is None else (launches.kernel if side == "kernel" else launches.ref)
    return [one.name for one in of_side.launches if one.kind == "kernel"] if of_side is not None else []


def _precision_traded(capture: Capture) -> Check:
    """Within tolerance, and yet far less exact than its types: TF32 or half precision under a contract of fp32."""
    name, precision = "precision_traded", capture.precision
    if precision is None or precision.kernel_error_vs_fp64 is None or precision.ref_error_vs_fp64 is None:
        reason = (precision.fp64_reason if precision is not None else None) or NOT_LOOKED
        return unknown(name, reason, "advisory")
    tolerances = [one for trial in precision.trials[:1] for one in trial.tolerances]
    scale = max((one.scale for one in tolerances), default=0.0)
    kernel, ref = precision.kernel_error_vs_fp64, precision.ref_error_vs_fp64
    exact = all(one.dtype in ("float32", "float64") for one in tolerances)
    traded = exact and kernel > TRADED_RATIO * ref and kernel > TRADED_SHARE * scale > 0.0
    told = f"its error against fp64 is {kernel:.3g}, the reference's {ref:.3g}: it computes in a lower precision"
    return advise(name, told if traded else None)
