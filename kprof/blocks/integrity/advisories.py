"""What is worth knowing of kernels that may well be honest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kprof.blocks.counter_analysis import CounterAnalysis
from kprof.blocks.integrity.check import Check, advise, named, unknown
from kprof.blocks.integrity.traded import precision_traded
from kprof.blocks.timing.device_time import off_current_stream
from kprof.capture import Capture
from kprof.evidence import Reason, Side
from kprof.integrity_evidence import IntegrityEvidence
from kprof.kernelnames import is_library_kernel

_MOST_NOTES: Final = 4


def advisories(capture: Capture, evidence: IntegrityEvidence, counters: CounterAnalysis) -> Iterator[Check]:
    """The checks that never fail the block."""
    off = off_current_stream(capture)
    if off is not None:
        told = "the kernel does not launch on torch's current stream"
        yield advise("off_current_stream", told if off else None)
    yield _fallback(capture, evidence)
    called = named(evidence.reference_calls)
    yield advise("calls_reference", f"it calls functions of the reference's file: {called}" if called else None)
    yield precision_traded(capture, counters)
    yield advise("prints", "it writes to the output in every call" if evidence.prints else None)
    changed = [one for one in _workload_warnings(capture) if one.code == "kernel_changes_settings"]
    problems = [one.message for one in changed[:1]]
    if evidence.settings:
        left = named(evidence.settings)
        problems.append(f"calls leave settings of torch changed, under which both sides were timed: {left}")
    yield advise("settings_changed", "; ".join(problems) or None)
    notes = [f"line {note.line}: {note.message} ({note.code})" for note in evidence.notes]
    yield advise("static_notes", "; ".join(notes[:_MOST_NOTES]) if notes else None)


def _workload_warnings(capture: Capture) -> tuple[Reason, ...]:
    return capture.workload.warnings if capture.workload is not None else ()


_NOT_SEEN: Final = Reason(
    code="not_profiled",
    message="the launches of the kernel were not traced (block launches), and its calls not counted",
)


def _fallback(capture: Capture, evidence: IntegrityEvidence) -> Check:
    """A file with kernels of its own of which none ran."""
    name = "library_fallback"
    kind = capture.workload.kind if capture.workload is not None else None
    if kind not in ("cuda", "cpp", "triton") or evidence.extension_calls:
        return advise(name, None)
    launched = _kernel_names(capture, "kernel")
    if launched:
        only = all(map(is_library_kernel, launched))
        what = f"only kernels of libraries ran: {named(list(dict.fromkeys(launched)))}"
        return advise(name, what if only else None)
    if evidence.extension_calls == 0:
        return advise(name, "the extension that the file builds was not called")
    return unknown(name, _NOT_SEEN, "advisory")


def _kernel_names(capture: Capture, side: Side) -> list[str]:
    launches = capture.launches
    of_side = None if launches is None else (launches.kernel if side == "kernel" else launches.ref)
    return [one.name for one in of_side.launches if one.kind == "kernel"] if of_side is not None else []
