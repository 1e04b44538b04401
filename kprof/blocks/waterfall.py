"""The block ``waterfall``: where the time of one call goes, from the host down to the floor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from kprof.blocks.base import Absence, Block, absent_block, finish
from kprof.blocks.sol_records import FLOOR
from kprof.evidence import Reason
from kprof.launches_evidence import SideLaunches
from kprof.metrics import metric
from kprof.statistics import union_length

PROFILER: Final = "torch.profiler, and the floor"
OVERLAP: Final = "profiler_overlap"
"""Device work that reaches beyond the call: host and device clocks of the profiler do not line up."""
ABOVE_BUSY: Final = "floor_above_busy"
"""The device was busy for less than the floor: the floor is too high, or of another cache state."""


class WaterfallBlock(Block, frozen=True, kw_only=True):
    """Where the time of one call goes: ``host_us`` is the sum of ``gap_us``, ``idle_us``, ``excess_us`` and
    ``floor_us``, each of which lies within the one before. A part that comes out negative is null."""

    host_us: Annotated[
        float | None, metric("us", "One call on the host, profiler running", better="lower", source=PROFILER)
    ] = None
    gap_us: Annotated[
        float | None, metric("us", "Before the first and after the last device work", better="lower", source=PROFILER)
    ] = None
    idle_us: Annotated[
        float | None, metric("us", "Device idle between its first and last work", better="lower", source=PROFILER)
    ] = None
    busy_us: Annotated[
        float | None, metric("us", "Device busy: excess_us and floor_us together", better="lower", source=PROFILER)
    ] = None
    excess_us: Annotated[
        float | None, metric("us", "Device busy beyond the floor", better="lower", source=PROFILER)
    ] = None
    floor_us: Annotated[float | None, metric("us", "Least time of the task", source=FLOOR)] = None


@dataclass(frozen=True)
class _Device:
    """Device work of one call, us: overlaps count once."""

    span: float
    busy: float


def waterfall_block(side: SideLaunches, floor_us: float | None, no_floor: str = "not_collected") -> WaterfallBlock:
    """The block of one profiled call of the kernel's side.

    Args:
        side: the call, as the profiler saw it.
        floor_us: the floor in the cache state of that call.
        no_floor: code for a floor that is not there.
    """
    absence = _absence(side)
    if absence is not None:
        return absent_block(WaterfallBlock, absence, PROFILER)
    device, host = _device(side), side.host_us or 0.0
    negative = {
        "gap_us": OVERLAP if host < device.span else "",
        "excess_us": no_floor if floor_us is None else ABOVE_BUSY if device.busy < floor_us else "",
        "floor_us": no_floor,
    }
    block = WaterfallBlock(
        status="ok",
        source=PROFILER,
        warnings=_warnings(side, negative["gap_us"], negative["excess_us"]),
        host_us=host,
        gap_us=None if negative["gap_us"] else host - device.span,
        idle_us=device.span - device.busy,
        busy_us=device.busy,
        excess_us=None if negative["excess_us"] or floor_us is None else device.busy - floor_us,
        floor_us=floor_us,
    )
    return finish(block, negative.__getitem__)


def _absence(side: SideLaunches) -> Absence | None:
    if side.absent is not None:
        reason = side.absent
        if reason.code == "no_device":
            reason = Reason(code="no_cuda_device", message=reason.message, hint=reason.hint)
        return Absence(status="unavailable", reason=reason)
    if side.host_us is None:
        message = "the profiler did not see the call on the host"
        return Absence(status="unavailable", reason=Reason(code="not_collected", message=message))
    return None


def _device(side: SideLaunches) -> _Device:
    if not side.launches:
        return _Device(0.0, 0.0)
    intervals = [(one.start_us, one.start_us + one.duration_us) for one in side.launches]
    span = max(end for _, end in intervals) - min(start for start, _ in intervals)
    return _Device(span, min(span, union_length(intervals)))  # Adding up may round the union above the span.


def _warnings(side: SideLaunches, gap: str, excess: str) -> tuple[Reason, ...]:
    found = []
    if not side.launches:
        found.append(Reason(code="no_device_work", message="the call launched nothing: all of it is the host's time"))
    if gap:
        message = "device work took longer than the whole call on the host: its clock and the host's do not line up"
        found.append(Reason(code=gap, message=message))
    if excess == ABOVE_BUSY and side.launches:
        message = "the device was busy for less than the floor: the floor is too high, or the call found more in L2"
        found.append(Reason(code=excess, message=message))
    return (*side.warnings, *found)
