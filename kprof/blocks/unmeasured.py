"""The blocks that this version cannot measure yet: present all the same, each with its honest reason."""

from __future__ import annotations

from typing import Final, TypeVar

from kprof.blocks.base import Absence, Block, absent_block, not_requested, on_cuda
from kprof.blocks.counters import (
    CHECKS,
    NCU,
    NCU_AND_SPEC,
    PROFILER,
    BottleneckBlock,
    CachesBlock,
    IntegrityBlock,
    OccupancyBlock,
    RooflineBlock,
    SolBlock,
    StallsBlock,
    WaterfallBlock,
)
from kprof.capture import Capture
from kprof.evidence import Reason

NO_GPU: Final = Reason(
    code="no_cuda_device",
    message="the run was on a CPU; hardware counters are those of an NVIDIA GPU",
    hint="Run the same command on a machine with an NVIDIA GPU.",
)
NO_COUNTERS: Final = Reason(
    code="counters_not_collected",
    message="this version of kprof does not run Nsight Compute yet",
    hint="Profile the kernel with ncu by hand meanwhile.",
)
NO_DEVICE_YET: Final = Reason(
    code="device_unknown", message="the run ended before it chose a device", hint="Mend what ended it first."
)
NOT_COLLECTED: Final = Reason(code="not_collected", message="this version of kprof does not measure this block yet")

SOURCES: Final[dict[type[Block], str]] = {
    WaterfallBlock: PROFILER,
    SolBlock: NCU_AND_SPEC,
    RooflineBlock: NCU_AND_SPEC,
    OccupancyBlock: NCU,
    CachesBlock: NCU,
    StallsBlock: NCU,
    BottleneckBlock: NCU,
    IntegrityBlock: CHECKS,
}
_NEED_NO_COUNTERS: Final = (WaterfallBlock, IntegrityBlock)
B = TypeVar("B", bound=Block)


def counters_reason(capture: Capture) -> Reason:
    """Why there are no hardware counters in this run."""
    if on_cuda(capture):
        return NO_COUNTERS
    return NO_GPU if capture.environment.device == "cpu" else NO_DEVICE_YET


def unmeasured_block(capture: Capture, kind: type[B], name: str) -> B:
    """One block that this version cannot measure, all its fields null."""
    absence = not_requested(capture, name)
    if absence is None:
        reason = NOT_COLLECTED if kind in _NEED_NO_COUNTERS else counters_reason(capture)
        absence = Absence(status="unavailable", reason=reason)
    return absent_block(kind, absence, SOURCES[kind])
