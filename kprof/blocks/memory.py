"""The block ``memory``: what one call takes above what was allocated before it. 1 MB is 1e6 bytes."""

from __future__ import annotations

from typing import Annotated, Final

from kprof.blocks.base import (
    Block,
    absent_block,
    fault_reason,
    finish,
    missing_code,
    not_requested,
    on_cuda,
    stage_absence,
)
from kprof.capture import Capture
from kprof.evidence import MemoryEvidence, Reason, Side, SideMemory
from kprof.metrics import metric

SOURCE: Final = "torch's allocator"
_DEVICE: Final = "cudaMemGetInfo less what torch's allocator reserved"
_BYTES_PER_MB: Final = 1e6


class MemoryBlock(Block, frozen=True, kw_only=True):
    """Memory of one call, parameters and inputs not counted."""

    kernel_peak_mb: Annotated[
        float | None,
        metric("MB", "Kernel: peak above what was allocated before the call", better="lower", source=SOURCE),
    ] = None
    ref_peak_mb: Annotated[
        float | None,
        metric("MB", "Reference: peak above what was allocated before the call", better="lower", source=SOURCE),
    ] = None
    ratio: Annotated[
        float | None,
        metric("ratio", "kernel_peak_mb / ref_peak_mb", better="lower", source="computed from the two peaks"),
    ] = None
    kernel_device_delta_mb: Annotated[
        float | None,
        metric("MB", "Kernel: device memory taken outside torch's allocator", better="lower", source=_DEVICE),
    ] = None
    ref_device_delta_mb: Annotated[
        float | None,
        metric("MB", "Reference: device memory taken outside torch's allocator", better="lower", source=_DEVICE),
    ] = None
    method: Annotated[str | None, metric("text", "The allocator whose peak it is", source="the worker")] = None


def memory_block(capture: Capture) -> MemoryBlock:
    """The block ``memory`` of a capture."""
    skipped = not_requested(capture, "memory")
    if skipped is not None:
        return absent_block(MemoryBlock, skipped, SOURCE)
    evidence = capture.memory
    if evidence is None or (evidence.kernel is None and evidence.ref is None):
        return absent_block(MemoryBlock, stage_absence(capture, "memory"), SOURCE)
    fault = capture.fault("memory")
    kernel_peak, ref_peak = _peak_mb(evidence.kernel), _peak_mb(evidence.ref)
    reason = fault_reason(fault) if fault else _impossible(kernel_peak, ref_peak)
    block = MemoryBlock(
        status="ok" if reason is None else ("failed" if kernel_peak is None else "suspect"),
        reason=reason,
        source=SOURCE,
        kernel_peak_mb=kernel_peak,
        ref_peak_mb=ref_peak,
        ratio=kernel_peak / ref_peak if kernel_peak is not None and ref_peak else None,
        kernel_device_delta_mb=_delta_mb(evidence.kernel),
        ref_device_delta_mb=_delta_mb(evidence.ref),
        method=evidence.method,
    )
    return finish(block, lambda path: _why_null(capture, evidence, path))


def _impossible(*peaks_mb: float | None) -> Reason | None:
    below = next((one for one in peaks_mb if one is not None and one < 0), None)
    if below is None:
        return None
    message = f"a peak is {below:g} MB, below what was there before the call"
    return Reason(code="negative_memory", message=message, hint="Measure again.")


def _peak_mb(side: SideMemory | None) -> float | None:
    return None if side is None or side.peak_bytes is None else side.peak_bytes / _BYTES_PER_MB


def _delta_mb(side: SideMemory | None) -> float | None:
    return None if side is None or side.device_delta_bytes is None else side.device_delta_bytes / _BYTES_PER_MB


def _why_null(capture: Capture, evidence: MemoryEvidence, path: str) -> str:
    side: Side = "kernel" if path.startswith("kernel_") else "ref"
    if path == "ratio" and evidence.ref is not None and evidence.ref.peak_bytes == 0:
        return "ref_peak_is_zero"
    if path.endswith("_device_delta_mb") and not on_cuda(capture):
        return "no_device"
    if path == "ratio" and capture.has_reference and _peak_mb(evidence.kernel) is None:
        side = "kernel"
    return missing_code(capture, "memory", side)
