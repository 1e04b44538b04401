"""What to know before using the times: everything that was seen and makes them mean less than they seem to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kprof.blocks.timing.device_time import Estimate, all_series, off_current_stream
from kprof.blocks.timing.view_times import DevicePair
from kprof.blocks.timing.views import CrossCheck, DeviceView
from kprof.capture import Capture
from kprof.evidence import Cache, Reason, Series

STEPS_NEEDED: Final = 10.0
"""A value under this many timer steps is limited by the timer: one step is then a tenth of it or more."""


PREEMPTED_SHARE: Final = 0.1
"""A median moves when more than a few samples in a hundred were interrupted."""


def resolution_limited(values: Iterable[tuple[float | None, float | None]]) -> bool | None:
    """A value lies under `STEPS_NEEDED` of its timer's steps.

    Args:
        values: time and timer step of each side, us; None: not known.
    """
    known = [(time, step) for time, step in values if time is not None and step is not None]
    return any(time < STEPS_NEEDED * step for time, step in known) if known else None


def disagreements(view: DeviceView, cache: Cache) -> Iterator[Reason]:
    """Sides for which two estimators of device time differ by more than their known biases."""
    times = view.cold if cache == "cold" else view.warm
    if times is None:
        return
    for side, median_us, estimator, check in (
        ("kernel", times.kernel_median_us, times.kernel_estimator, times.kernel_cross_check),
        ("reference", times.ref_median_us, times.ref_estimator, times.ref_cross_check),
    ):
        if check is not None and median_us is not None and not check.agrees:
            yield _disagreement(f"{side}, {cache}", f"{estimator} reads {median_us:.4g} us", check)


def _disagreement(where: str, chosen: str, check: CrossCheck) -> Reason:
    return Reason(
        code="timers_disagree",
        message=f"{where}: {chosen}, {check.timer} {check.median_us:.4g} us; "
        f"{check.unexplained_us:.3g} us of it beyond the known biases",
        hint="Look for work on another stream, host time inside the event pair, or a clock that moved.",
    )


def timing_warnings(capture: Capture, pairs: dict[Cache, DevicePair], *, limited: bool | None) -> Iterator[Reason]:
    """Every warning about the times except those about clocks and disagreeing timers."""
    if capture.timing is not None:
        yield from capture.timing.warnings
    if off_current_stream(capture):
        yield Reason(
            code="kernel_off_current_stream",
            message="the kernel does not launch on torch's current stream: a CUDA graph captures nothing of it, "
            "and events on that stream see its work only where streams wait for each other",
            hint="Launch on at::cuda::getCurrentCUDAStream().",
        )
    constant = [tensor.path for tensor in capture.inputs if tensor.constant]
    if constant:
        yield Reason(
            code="constant_inputs",
            message=f"inputs with all elements equal: {', '.join(constant)}; such values can run faster than real ones",
            hint="Fill inputs with random values in get_inputs().",
        )
    yield from _queue_warnings(capture)
    yield from contention(capture)
    estimates = [estimate for pair in pairs.values() for estimate in (pair.kernel, pair.ref) if estimate is not None]
    yield from _estimate_warnings(estimates)
    if limited:
        yield Reason(
            code="resolution_limited",
            message=f"a time of the headline is under {STEPS_NEEDED:g} steps of its timer",
            hint="Time a larger problem.",
        )


def _queue_warnings(capture: Capture) -> Iterator[Reason]:
    not_full = [f"{one.timer} {one.cache}" for one in all_series(capture) if one.queue_kept_full is False]
    if not_full:
        yield Reason(
            code="host_time_inside",
            message=f"the device overtook the host while sampling ({', '.join(not_full)}): host time is in the samples",
        )


def contention(capture: Capture) -> Iterator[Reason]:
    """Series of host time in which other work took the processors too often."""
    for one in all_series(capture):
        samples = one.kernel_count + one.ref_count
        if is_contended(one):
            yield Reason(
                code="host_contended",
                message=f"other work took the processors {one.preemptions} times in {samples} samples of host time "
                f"({one.cache}): these times are too long and the ratio may be off",
                hint="Measure on a machine that does nothing else.",
            )


def is_contended(series: Series) -> bool:
    """Host times of which more than `PREEMPTED_SHARE` may have been interrupted."""
    samples = series.kernel_count + series.ref_count
    taken = series.preemptions
    return series.timer == "host" and taken is not None and taken > PREEMPTED_SHARE * samples > 0


def _estimate_warnings(estimates: Iterable[Estimate]) -> Iterator[Reason]:
    if any(not estimate.calibrated for estimate in estimates):
        yield Reason(
            code="events_not_calibrated",
            message="device times come from events whose own reading round nothing is not known",
        )
