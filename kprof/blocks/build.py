"""The block ``build``: what was compiled, how long it took, and the compiler's first error."""

from __future__ import annotations

from typing import Annotated, Final

from kprof.blocks.base import (
    Absence,
    Block,
    absent_block,
    fault_reason,
    finish,
    missing_code,
    not_requested,
    stage_absence,
)
from kprof.capture import Capture
from kprof.evidence import Reason, SideBuild
from kprof.metrics import metric

SOURCE: Final = "torch.utils.cpp_extension and ninja, wall time inside the builder"
_NOTHING: Final = Reason(code="nothing_to_build", message="the kernel's file builds no extension when it is loaded")


class BuildBlock(Block, frozen=True, kw_only=True):
    """What the two files compiled when they were loaded."""

    seconds: Annotated[
        float | None,
        metric("s", "Time to compile the kernel, or to find it compiled, and load it", better="lower", source=SOURCE),
    ] = None
    cached: Annotated[bool | None, metric("bool", "The library was there before: no compiler ran", source=SOURCE)] = (
        None
    )
    arch: Annotated[str | None, metric("text", "The architecture compiled for", source=SOURCE)] = None
    log_tail: Annotated[str | None, metric("text", "End of the builder's log", source=SOURCE)] = None
    extensions: Annotated[tuple[str, ...], metric("text", "Extensions the kernel's file built", source=SOURCE)] = ()
    ref_seconds: Annotated[
        float | None, metric("s", "The same for the reference's file", better="lower", source=SOURCE)
    ] = None
    ref_cached: Annotated[bool | None, metric("bool", "The reference's library was there before", source=SOURCE)] = None


def build_block(capture: Capture) -> BuildBlock:
    """The block ``build`` of a capture."""
    skipped = not_requested(capture, "build")
    if skipped is not None:
        return absent_block(BuildBlock, skipped, SOURCE)
    fault = capture.fault("build")
    evidence = capture.build
    kernel, ref = (evidence.kernel, evidence.ref) if evidence else (None, None)
    if fault is None and kernel is None:
        return absent_block(BuildBlock, stage_absence(capture, "build"), SOURCE)
    if fault is None and kernel is not None and not kernel.extensions:
        return _with_sides(capture, Absence(status="skipped", reason=_NOTHING), kernel, ref)
    if fault is None:
        return _with_sides(capture, None, kernel, ref)
    failed = Absence(status="failed", reason=fault_reason(fault))
    return _with_sides(capture, failed, kernel, ref, log_tail=fault.detail or fault.message)


def _with_sides(
    capture: Capture, told: Absence | None, kernel: SideBuild | None, ref: SideBuild | None, log_tail: str | None = None
) -> BuildBlock:
    built = kernel if kernel is not None and kernel.extensions else None
    ref_built = ref if ref is not None and ref.extensions else None
    block = BuildBlock(
        status=told.status if told else "ok",
        reason=told.reason if told else None,
        source=SOURCE,
        seconds=built.seconds if built else None,
        cached=built.cached if built else None,
        arch=built.arch if built else None,
        log_tail=log_tail if log_tail is not None else (built.log_tail if built else None),
        extensions=built.extensions if built else (),
        ref_seconds=ref_built.seconds if ref_built else None,
        ref_cached=ref_built.cached if ref_built else None,
    )
    return finish(block, lambda path: _why_null(capture, path, kernel, ref))


def _why_null(capture: Capture, path: str, kernel: SideBuild | None, ref: SideBuild | None) -> str:
    is_ref = path.startswith("ref_")
    side = ref if is_ref else kernel
    if side is not None and not side.extensions:
        return "nothing_to_build"
    return missing_code(capture, "build", "ref" if is_ref else "kernel")
