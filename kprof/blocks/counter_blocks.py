"""The blocks that hardware counters fill, for the kernel's side as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

import msgspec

from kprof.blocks.base import Absence, Block, absent_block, not_requested, on_cuda, stage_absence
from kprof.blocks.bottleneck import BottleneckBlock, bottleneck_block
from kprof.blocks.caches import CachesBlock, caches_block
from kprof.blocks.counter_analysis import CounterAnalysis
from kprof.blocks.occupancy import OccupancyBlock, occupancy_block
from kprof.blocks.profiled import SOURCE as NCU
from kprof.blocks.roofline import RooflineBlock, roofline_block
from kprof.blocks.roofline_plot import with_plot
from kprof.blocks.sol import sol_block
from kprof.blocks.sol_records import SolBlock
from kprof.blocks.stalls import StallsBlock, stalls_block
from kprof.blocks.task import Task
from kprof.blocks.waterfall import PROFILER, WaterfallBlock, waterfall_block
from kprof.bottleneck.advice import within
from kprof.bottleneck.verdict import Verdict
from kprof.bottleneck.workload import KernelVerdict, workload_verdict
from kprof.capture import Capture
from kprof.counter_profile import CounterProfile
from kprof.evidence import Reason, Stage
from kprof.kernelnames import base_name
from kprof.roofline import RoofChoice

B = TypeVar("B", bound=Block)
_BEFORE_LAUNCHES: Final[tuple[Stage, ...]] = ("build", "load")
NO_KERNEL_TIME: Final = Reason(
    code="no_kernel_time",
    message="the label rests on the kernel's time beside its floor, and the kernel was not timed",
    hint="Add timing to --blocks, or see why the block timing has no time.",
)


class CounterBlocks(msgspec.Struct, frozen=True, kw_only=True):
    """One of each."""

    waterfall: WaterfallBlock
    sol: SolBlock
    roofline: RooflineBlock
    occupancy: OccupancyBlock
    caches: CachesBlock
    stalls: StallsBlock
    bottleneck: BottleneckBlock


def counter_blocks(capture: Capture, counters: CounterAnalysis, task: Task, roof: RoofChoice) -> CounterBlocks:
    """All blocks of the kernel's side."""

    def made(kind: type[B], name: str, make: Callable[[CounterProfile], B]) -> B:
        skipped = not_requested(capture, name)
        if skipped is None and counters.main is not None:
            return make(counters.main.profile)
        return absent_block(kind, skipped or _absence(capture, counters), NCU)

    return CounterBlocks(
        waterfall=_waterfall(capture, task),
        sol=_sol(capture, counters, task, roof),
        roofline=made(
            RooflineBlock, "roofline", lambda profile: with_plot(roofline_block(profile, roof), counters, roof)
        ),
        occupancy=made(OccupancyBlock, "occupancy", occupancy_block),
        caches=made(CachesBlock, "caches", caches_block),
        stalls=made(StallsBlock, "stalls", stalls_block),
        bottleneck=_bottleneck(capture, counters, task),
    )


def _absence(capture: Capture, counters: CounterAnalysis) -> Absence:
    """Why there are no counters: a stage that user code broke has failed; what cannot be had here is unavailable."""
    fault = capture.fault("counters")
    return Absence(status="failed" if fault is not None and fault.side else "unavailable", reason=counters.absence)


def _absence_of_task(capture: Capture, counters: CounterAnalysis, task: Task) -> Absence:
    """Why there is nothing of the task: on the CPU, where no counters are needed for it, what broke the run."""
    if on_cuda(capture):
        return _absence(capture, counters)
    if capture.fault("build") is not None or capture.fault("load") is not None:
        return stage_absence(capture, "floor")
    if capture.ceilings is not None and task.floor("warm") is not None and task.timing.kernel_us is None:
        return Absence(status="unavailable", reason=NO_KERNEL_TIME)
    return _absence(capture, counters)


def _sol(capture: Capture, counters: CounterAnalysis, task: Task, roof: RoofChoice) -> SolBlock:
    skipped = not_requested(capture, "sol")
    if skipped is not None:
        return absent_block(SolBlock, skipped, NCU)
    profile = counters.main.profile if counters.main is not None else None
    return sol_block(profile, task.time, _absence_of_task(capture, counters, task) if profile is None else None, roof)


def _waterfall(capture: Capture, task: Task) -> WaterfallBlock:
    skipped = not_requested(capture, "waterfall")
    if skipped is not None:
        return absent_block(WaterfallBlock, skipped, PROFILER)
    launches = capture.launches
    if launches is None or launches.kernel is None:
        return absent_block(WaterfallBlock, _no_launches(capture), PROFILER)
    floor = task.floor("warm")
    if floor is None:
        absent = task.time.floor_absent
        return waterfall_block(launches.kernel, None, absent.code if absent is not None else "not_collected")
    return waterfall_block(launches.kernel, floor.us, floor.reasons.get("us", "not_collected"))


def _no_launches(capture: Capture) -> Absence:
    broken = next((fault for stage in _BEFORE_LAUNCHES if (fault := capture.fault(stage)) is not None), None)
    if broken is not None and capture.fault("launches") is None:
        return stage_absence(capture, "launches")
    fault = capture.fault("launches")
    hint = "Measure again." if "launches" in capture.requested else "Add launches to --blocks."
    code = Reason(code="not_collected", message="the run holds no profiled call", hint=hint)
    return Absence(status="unavailable", reason=fault.reason if fault is not None else code)


def _of_which(kernels: list[KernelVerdict], verdict: Verdict) -> tuple[str, float | None] | None:
    """The kernel whose label it is, and the share of time of all launches with that label; None: it is no kernel's.

    The share is None where some launch's time is not known.
    """
    alike = [one for one in kernels if one.verdict.label == verdict.label]
    if not alike:
        return None
    longest = max(alike, key=lambda one: one.duration_us or 0.0)
    times = [one.duration_us for one in kernels if one.duration_us is not None]
    if len(times) < len(kernels) or not sum(times):
        return longest.name, None
    return longest.name, sum(one.duration_us or 0.0 for one in alike) / sum(times)


def _bottleneck(capture: Capture, counters: CounterAnalysis, task: Task) -> BottleneckBlock:
    """The host where it cannot keep up, which needs no counters; else the kernels with most time."""
    skipped = not_requested(capture, "bottleneck")
    if skipped is not None:
        return absent_block(BottleneckBlock, skipped, NCU)
    main = counters.main
    kernels = [
        KernelVerdict(base_name(one.launch.name), one.duration_us, one.verdict)
        for one in (main.launches if main is not None else ())
    ]
    verdict = workload_verdict(kernels, task.host_share)
    if verdict is None and not on_cuda(capture):
        verdict = task.processor_verdict
        if verdict is not None:
            return bottleneck_block(verdict, estimated=True)
    if verdict is None:
        return absent_block(BottleneckBlock, _absence_of_task(capture, counters, task), NCU)
    of = _of_which(kernels, verdict)
    if of is not None and len(kernels) == 1:  # The kernel is the call: no step takes it below the floor of the task.
        verdict = replace(verdict, steps=within(verdict.steps, task.most_gain))
    block = bottleneck_block(verdict, of)
    if main is not None:
        return block
    return msgspec.structs.replace(block, warnings=(*block.warnings, counters.absence))
