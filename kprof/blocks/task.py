"""The task as a whole: its floor, the time the kernel takes for it, and how well the host keeps the GPU busy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kprof.blocks.base import IMPORTED, on_cuda, stage_absence
from kprof.blocks.counter_analysis import CounterAnalysis, LaunchAnalysis
from kprof.blocks.sol import TaskTime
from kprof.blocks.timing.block import TimingBlock
from kprof.board import GpuSpec
from kprof.bottleneck.processor import ProcessorCall, processor_verdict
from kprof.bottleneck.verdict import Verdict
from kprof.bottleneck.workload import HostShare
from kprof.capture import Capture
from kprof.evidence import LEAST_TIME_US, SIDE_NAMES, Cache, Reason, Side
from kprof.floor import EMPTY_KERNEL_US, NO_ROOF, Floor, task_floor
from kprof.roofline import MEASURED, RoofChoice

_NOT_A_TIME: Final = "impossible_time"
FLUSHED: Final = "all"
"""ncu's cache control that empties the caches before every pass."""


@dataclass(frozen=True)
class Task:
    """What is known of the whole call.

    Args:
        capture: the evidence.
        counters: what analysis says of its counters.
        timing: the block ``timing``.
        spec: the board; None where it is not known.
        no_spec: why not, where it is not.
        roof: what to hold it against; a processor has measured roofs alone.
    """

    capture: Capture
    counters: CounterAnalysis
    timing: TimingBlock
    spec: GpuSpec | None
    no_spec: Reason | None
    roof: RoofChoice = "spec"

    def floor(self, cache: Cache) -> Floor | None:
        """The floor in one cache state; None: nothing was counted of the reference."""
        if self.capture.floor is None:
            return None
        main = self.counters.main
        return task_floor(
            self.capture.floor,
            self.spec,
            cache=cache,
            l2_bytes=self.capture.environment.l2_bytes,
            l2_bytes_per_s=main.profile.quantities.l2_peak_bytes_per_s if main is not None else None,
            ref_dram_bytes=self._ref_dram_bytes(),
            no_spec=self.no_spec if self.no_spec is not None and on_cuda(self.capture) else NO_ROOF,
            ceilings=self.capture.ceilings if self.roof == MEASURED or not on_cuda(self.capture) else None,
        )

    @cached_property
    def time(self) -> TaskTime:
        """The floor beside the headline, in the headline's cache state."""
        return TaskTime(
            floor=self.floor(self.timing.headline_cache or "cold"),
            floor_absent=self._floor_absent(),
            kernel_us=self._kernel_us,
            time_absent=self.timing.reasons.get("kernel_us", _NOT_A_TIME if self._has_no_time else "not_collected"),
            empty_us=EMPTY_KERNEL_US if on_cuda(self.capture) else self._overhead_us,
        )

    @property
    def _has_no_time(self) -> bool:
        """The headline is a number, and no time."""
        return self.timing.kernel_us is not None and self.timing.kernel_us < LEAST_TIME_US

    @property
    def _kernel_us(self) -> float | None:
        return None if self._has_no_time else self.timing.kernel_us

    @property
    def most_gain(self) -> float | None:
        """How many times as fast the task could be done at most; None where the floor may be too high to say."""
        floor = self.time.floor
        return self.time.headroom if floor is not None and floor.kind != "upper_estimate" else None

    @property
    def host_share(self) -> HostShare | None:
        """Device time of a call against what one of many takes on the host, caches warm in both."""
        device, stream = self.timing.device.warm or self.timing.device.cold, self.timing.host_stream.warm
        if device is None or stream is None or not device.kernel_median_us or not stream.kernel_median_us:
            return None
        return HostShare(device_us=device.kernel_median_us, per_call_us=stream.kernel_median_us)

    @property
    def processor_verdict(self) -> Verdict | None:
        """On the CPU: what would hold back a kernel that does no more than the task needs; None without its time."""
        floor, kernel_us = self.floor("warm"), self.timing.kernel_us
        if floor is None or self.capture.ceilings is None or kernel_us is None:
            return None
        return processor_verdict(ProcessorCall(floor, kernel_us, self._overhead_us))

    @property
    def _overhead_us(self) -> float | None:
        """Of a call on the CPU that does next to nothing."""
        measured = self.capture.ceilings.get("call") if self.capture.ceilings is not None else None
        return measured.best if measured is not None else None

    def has_whole_side(self, side: Side) -> bool:
        """Every kernel of the call has counters, and each was profiled with its caches emptied."""
        evidence, seen = self.capture.counters, self.capture.launches
        if evidence is None or evidence.cache_control != FLUSHED or seen is None:
            return False
        of_side = seen.kernel if side == "kernel" else seen.ref
        kernels = sum(launch.kind == "kernel" for launch in of_side.launches) if of_side is not None else 0
        return 0 < kernels <= len(self.counters.of_side(side))

    def _ref_dram_bytes(self) -> float | None:
        """DRAM bytes of one call of the reference: its kernels', where each was profiled."""
        if not self.has_whole_side("ref"):
            return None
        return _total(self.counters.of_side("ref"))

    def _floor_absent(self) -> Reason | None:
        if self.capture.floor is not None:
            return None
        if self.capture.is_imported:
            return IMPORTED
        if not self.capture.has_reference and self.capture.fault("floor") is None:
            name = SIDE_NAMES["ref"]
            return Reason(
                code="no_reference", message=f"the floor is that of the task a {name} states", hint="Give --ref."
            )
        return stage_absence(self.capture, "floor").reason


def _total(launches: Sequence[LaunchAnalysis]) -> float | None:
    moved = [one.profile.trusted("dram_bytes") for one in launches]
    known = [value for value in moved if value is not None]
    return sum(known) if known and len(known) == len(moved) else None
