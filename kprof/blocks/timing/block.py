"""The block ``timing``: the views of time, and the headline taken from one of them.

Headline: device time with a cold L2 on CUDA, host time warm on the CPU. Where that one is missing the headline is null;
no other view takes its place.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from kprof.blocks.base import Block, absent_block, finish, not_requested, on_cuda, stage_absence
from kprof.blocks.timing.cautions import disagreements, resolution_limited, timing_warnings
from kprof.blocks.timing.clocks import ClockState, clock_state
from kprof.blocks.timing.device_time import all_series, off_current_stream
from kprof.blocks.timing.headline import TOO_SHORT, Headline, headline, judge
from kprof.blocks.timing.reasons import explain_timing
from kprof.blocks.timing.view_times import (
    CACHES,
    VIEW_TIMERS,
    DevicePair,
    device_pair,
    device_view,
    repeats,
    samples_by_view,
    timer_view,
)
from kprof.blocks.timing.views import DeviceView, Repeats, Samples, View
from kprof.capture import Capture
from kprof.evidence import Cache, Reason
from kprof.metrics import metric

SOURCE: Final = "events, CUDA graphs, CUPTI and perf_counter, each named where it is used"
_HEADLINE: Final = "the headline view"
_NVML: Final = "NVML, round the groups of samples"
_BOOTSTRAP: Final = "percentile bootstrap of the ratio of medians"


class TimingBlock(Block, frozen=True, kw_only=True):
    """How long one call takes. A view's name says what is inside its times."""

    kernel_us: Annotated[float | None, metric("us", "Kernel: headline time", better="lower", source=_HEADLINE)] = None
    ref_us: Annotated[float | None, metric("us", "Reference: headline time", source=_HEADLINE)] = None
    speedup: Annotated[
        float | None, metric("ratio", "ref_us / kernel_us, exactly", better="higher", source=_HEADLINE)
    ] = None
    speedup_ci95: Annotated[
        tuple[float, float] | None,
        metric("ratio", "95 % interval of speedup, within this run", better="higher", source=_BOOTSTRAP),
    ] = None
    headline_view: Annotated[str | None, metric("text", "The view the headline is from", source="kprof")] = None
    headline_cache: Annotated[Cache | None, metric("text", "Its cache state", source="kprof")] = None
    method: Annotated[str | None, metric("text", "How the headline was measured", source="kprof")] = None
    kernel_cycles: Annotated[
        float | None, metric("cycles", "kernel_us times sm_clock_mhz", better="lower", source=_NVML)
    ] = None
    ref_cycles: Annotated[float | None, metric("cycles", "ref_us times sm_clock_mhz", source=_NVML)] = None
    sm_clock_mhz: Annotated[float | None, metric("MHz", "Median SM clock while timing", source=_NVML)] = None
    power_capped: Annotated[bool | None, metric("bool", "Power held the clock down", source=_NVML)] = None
    throttle_reasons: Annotated[
        tuple[str, ...] | None, metric("text", "All that held the clock down while timing", source=_NVML)
    ] = None
    power_w: Annotated[float | None, metric("W", "Highest power read while timing", source=_NVML)] = None
    power_limit_w: Annotated[float | None, metric("W", "Power the board may draw", source=_NVML)] = None
    clock_dropped: Annotated[
        int | None, metric("count", "Samples left out because the SM clock strayed, all views", source=_NVML)
    ] = None
    resolution_limited: Annotated[
        bool | None, metric("bool", "A headline time is under 10 steps of its timer", source="kprof")
    ] = None
    kernel_step_us: Annotated[
        float | None, metric("us", "Smallest difference that the kernel's timer can show", source=_HEADLINE)
    ] = None
    ref_step_us: Annotated[float | None, metric("us", "The same of the reference's timer", source=_HEADLINE)] = None
    kernel_off_current_stream: Annotated[
        bool | None, metric("bool", "The kernel ignores torch's current stream", source="CUDA graph capture")
    ] = None
    flush_bytes: Annotated[int | None, metric("bytes", "Bytes read between calls to empty L2", source="the worker")] = (
        None
    )
    device: Annotated[DeviceView, metric("record", "Time on the device", source="the estimator named")] = DeviceView()
    event: Annotated[View, metric("record", "Event pair round one call, raw", source="CUDA events")] = View()
    host: Annotated[View, metric("record", "One call and a synchronise", source="perf_counter")] = View()
    host_stream: Annotated[View, metric("record", "Many calls, one synchronise", source="perf_counter")] = View()
    graph: Annotated[View, metric("record", "Slope over graph replays, warm only", source="CUDA graphs")] = View()
    samples_us: Annotated[
        dict[str, Samples], metric("record", "Samples by view; device: bias taken off", source="the samples")
    ] = msgspec.field(default_factory=dict)
    repeats: Annotated[tuple[Repeats, ...], metric("record", "Medians of fresh processes", source="--repeats")] = ()


def timing_block(capture: Capture) -> TimingBlock:
    """The block ``timing`` of a capture."""
    skipped = not_requested(capture, "timing")
    if skipped is not None:
        return absent_block(TimingBlock, skipped, SOURCE)
    if not any(one.kernel_us or one.ref_us for one in all_series(capture)):
        return absent_block(TimingBlock, stage_absence(capture, "timing"), SOURCE)
    return _measured(capture)


def doubted(block: TimingBlock, reason: Reason | None) -> TimingBlock:
    """The block with times that are not to be trusted for a reason from outside; what it said before is a warning."""
    if reason is None or block.kernel_us is None:
        return block
    said = (block.reason,) if block.reason is not None else ()
    return msgspec.structs.replace(block, status="suspect", reason=reason, warnings=(*said, *block.warnings))


def _measured(capture: Capture) -> TimingBlock:
    series = all_series(capture)
    pairs = {cache: device_pair(capture, cache) for cache in CACHES}
    made = headline(capture, pairs)
    clocks = clock_state(capture, made.timer, made.cache)
    view = device_view(capture, pairs)
    judged = judge(capture, made, view)
    limited = resolution_limited(zip((made.kernel_us, made.ref_us), made.steps_us, strict=True))
    warnings = _warnings(capture, pairs, view, clocks, made, limited=limited)
    views = {timer: timer_view(series, timer) for timer in VIEW_TIMERS}
    block = TimingBlock(
        status=judged.status if judged else "ok",
        reason=judged.reason if judged else None,
        source=SOURCE,
        warnings=tuple(dict.fromkeys(one for one in warnings if judged is None or one != judged.reason)),
        kernel_us=made.kernel_us,
        ref_us=made.ref_us,
        speedup=made.speedup,
        speedup_ci95=made.speedup_ci95,
        headline_view=made.view,
        headline_cache=made.cache,
        method=made.method,
        kernel_cycles=_cycles(made.kernel_us, clocks),
        ref_cycles=_cycles(made.ref_us, clocks),
        sm_clock_mhz=clocks.sm_clock_mhz,
        power_capped=clocks.power_capped,
        throttle_reasons=clocks.throttle_reasons,
        power_w=clocks.power_w,
        power_limit_w=clocks.power_limit_w,
        clock_dropped=sum(one.dropped_by_clock for one in series) if on_cuda(capture) else None,
        resolution_limited=limited,
        kernel_step_us=made.steps_us[0],
        ref_step_us=made.steps_us[1],
        kernel_off_current_stream=off_current_stream(capture),
        flush_bytes=capture.timing.flush_bytes if capture.timing else None,
        device=view,
        event=views["event"],
        host=views["host"],
        host_stream=views["host_stream"],
        graph=views["graph"],
        samples_us=samples_by_view(series, pairs, (made.view, made.cache)),
        repeats=repeats(capture),
    )
    return finish(block, lambda path: explain_timing(capture, pairs, made, clocks, path))


def _cycles(time_us: float | None, clocks: ClockState) -> float | None:
    """us times MHz is cycles."""
    return None if time_us is None or clocks.sm_clock_mhz is None else time_us * clocks.sm_clock_mhz


def _warnings(
    capture: Capture,
    pairs: dict[Cache, DevicePair],
    view: DeviceView,
    clocks: ClockState,
    made: Headline,
    *,
    limited: bool | None,
) -> list[Reason]:
    told = [*timing_warnings(capture, pairs, limited=limited), *disagreements(view, "warm")]
    capped = clocks.warning()
    return [*told, *([capped] if capped else []), *([TOO_SHORT] if made.too_short else [])]
