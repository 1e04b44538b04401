"""The headline of the timing: the two times and their ratio, which view they are from, and whether to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kprof.blocks.base import Absence, fault_reason, on_cuda
from kprof.blocks.timing.cautions import contention, disagreements
from kprof.blocks.timing.device_time import KNOWN, METHODS, all_series, off_current_stream, step_us
from kprof.blocks.timing.view_times import DevicePair, device_method, ratio
from kprof.blocks.timing.views import DeviceView
from kprof.capture import Capture
from kprof.evidence import LEAST_TIME_US, Cache, Reason, Record, Timer
from kprof.exit_codes import NO_HEADLINE
from kprof.statistics import bootstrap_ratio_of_medians, median

TOO_SHORT: Final = Reason(
    code="too_short_for_events",
    message=f"only events were measured, and under {KNOWN.events_check_from_us:g} us they can read twice the true time",
    hint="Find out why CUPTI gave no spans: see the block launches.",
)


class Headline(Record, frozen=True, kw_only=True):
    """The headline and what is needed to judge it."""

    view: str
    cache: Cache
    kernel_us: float | None
    ref_us: float | None
    speedup: float | None
    speedup_ci95: tuple[float, float] | None
    method: str | None
    timer: Timer | None
    """The timer of the kernel's side."""
    steps_us: tuple[float | None, float | None]
    """The timers' steps, kernel and reference."""
    too_short: bool
    """A side has nothing but events, and is too short for what is left of their bias."""
    trusted: bool
    """Both sides by estimators that saw all of the work and none of the host."""


def headline(capture: Capture, pairs: dict[Cache, DevicePair]) -> Headline:
    """Device time with a cold L2 on CUDA, host time warm on the CPU."""
    return _device_headline(pairs["cold"]) if on_cuda(capture) else _host_headline(capture)


def _device_headline(pair: DevicePair) -> Headline:
    kernel, ref = pair.kernel, pair.ref
    interleaved = kernel is not None and ref is not None and kernel.timer == ref.timer
    kernel_samples = kernel.samples if kernel else ()
    ref_samples = ref.samples if ref else ()
    return Headline(
        view="device",
        cache=pair.cache,
        kernel_us=kernel.median_us if kernel else None,
        ref_us=ref.median_us if ref else None,
        speedup=ratio(ref.median_us if ref else None, kernel.median_us if kernel else None),
        speedup_ci95=_interval(kernel_samples, ref_samples, interleaved=interleaved),
        method=device_method(kernel, ref) or None,
        timer=kernel.timer if kernel else None,
        steps_us=(kernel.step_us if kernel else None, ref.step_us if ref else None),
        too_short=any(
            one.timer == "event" and one.median_us < KNOWN.events_check_from_us
            for one in (kernel, ref)
            if one is not None
        ),
        trusted=all(one.trusted for one in (kernel, ref) if one is not None),
    )


def _host_headline(capture: Capture) -> Headline:
    series = next((one for one in all_series(capture) if (one.timer, one.cache) == ("host", "warm")), None)
    kernel_us = median(series.kernel_us) if series else None
    ref_us = median(series.ref_us) if series else None
    step = step_us(series) if series else None
    return Headline(
        view="host",
        cache="warm",
        kernel_us=kernel_us,
        ref_us=ref_us,
        speedup=ratio(ref_us, kernel_us),
        speedup_ci95=_interval(series.kernel_us, series.ref_us, interleaved=True) if series else None,
        method=METHODS["host"] if series else None,
        timer="host" if series else None,
        steps_us=(step, step),
        too_short=False,
        trusted=True,
    )


def _interval(kernel: Sequence[float], ref: Sequence[float], *, interleaved: bool) -> tuple[float, float] | None:
    if not kernel or not ref or min(*kernel, *ref) <= 0:
        return None
    return bootstrap_ratio_of_medians(ref, kernel, paired=interleaved and len(kernel) == len(ref))


def judge(capture: Capture, made: Headline, view: DeviceView) -> Absence | None:
    """Status and reason of the block where it is not plainly ok; the gravest first."""
    fault = capture.fault("timing")
    if made.kernel_us is None:
        name = f"{made.view} time, {made.cache}"
        missing = Reason(
            code=NO_HEADLINE, message=f"the kernel has no {name}", hint="The views that were measured are kept."
        )
        return Absence(status="failed", reason=fault_reason(fault) if fault else missing)
    if fault is not None:
        return Absence(status="suspect", reason=fault_reason(fault))
    none = [one for one in (made.kernel_us, made.ref_us) if one is not None and one < LEAST_TIME_US]
    if none:
        return Absence(status="suspect", reason=_impossible(none[0]))
    disagreement = next(disagreements(view, "cold"), None) if made.view == "device" else None
    if disagreement is not None:
        return Absence(status="suspect", reason=disagreement)
    contended = next(contention(capture), None) if made.view == "host" else None
    if contended is not None:
        return Absence(status="suspect", reason=contended)
    if made.too_short:
        return Absence(status="suspect", reason=TOO_SHORT)
    if not made.trusted and not _confirmed(view):
        return Absence(status="suspect", reason=_untrusted(capture))
    return None


def _impossible(time_us: float) -> Reason:
    return Reason(
        code="impossible_time",
        message=f"a time of the headline is {time_us:g} us, which no clock can tell from nothing",
        hint="Measure again; of times near 0 this is what is left when a timer's own bias is taken off.",
    )


def _confirmed(view: DeviceView) -> bool:
    """A second estimator, itself trusted, agrees on both sides."""
    times = view.cold
    if times is None:
        return False
    kernel, ref = times.kernel_cross_check, times.ref_cross_check
    return kernel is not None and kernel.agrees and (times.ref_estimator is None or (ref is not None and ref.agrees))


def _untrusted(capture: Capture) -> Reason:
    if off_current_stream(capture):
        return Reason(
            code="kernel_off_current_stream",
            message="only events on torch's stream were measured, and the kernel does not launch on that stream",
            hint="Launch on at::cuda::getCurrentCUDAStream().",
        )
    return Reason(
        code="host_time_inside",
        message="the device overtook the host while the headline was sampled, and no second estimator confirms it",
        hint="Compare the view host instead.",
    )
