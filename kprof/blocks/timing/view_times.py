"""From series of samples to views of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kprof.blocks.timing.device_time import (
    EVENTS_RAW,
    METHODS,
    Candidates,
    Estimate,
    candidates,
    choose_pair,
    cross_check,
    largest_grid,
    launch_count,
    second_opinion,
)
from kprof.blocks.timing.views import CrossCheck, DeviceTimes, DeviceView, Repeats, Samples, View, ViewTimes
from kprof.capture import Capture
from kprof.evidence import Cache, Record, Series, Side, Timer
from kprof.statistics import spread_pct, summarise, thin

CACHES: Final[tuple[Cache, ...]] = ("cold", "warm")
VIEW_TIMERS: Final[tuple[Timer, ...]] = ("event", "host", "host_stream", "graph")
FULL_SAMPLES: Final = 1000
THIN_SAMPLES: Final = 200


class DevicePair(Record, frozen=True, kw_only=True):
    """The estimators of both sides in one cache state, and what else there was to choose from."""

    cache: Cache
    kernel: Estimate | None
    ref: Estimate | None
    kernel_found: dict[Timer, Estimate]
    ref_found: dict[Timer, Estimate]


def device_pair(capture: Capture, cache: Cache) -> DevicePair:
    """Choose the estimators of device time in one cache state."""
    kernel, ref = candidates(capture, cache, "kernel"), candidates(capture, cache, "ref")
    chosen = choose_pair(kernel, ref)
    return DevicePair(cache=cache, kernel=chosen[0], ref=chosen[1], kernel_found=kernel, ref_found=ref)


def device_view(capture: Capture, pairs: dict[Cache, DevicePair]) -> DeviceView:
    """The view ``device``, from the estimators chosen."""
    return DeviceView(**{cache: _device_times(capture, pair) for cache, pair in pairs.items()})


def _device_times(capture: Capture, pair: DevicePair) -> DeviceTimes | None:
    kernel, ref = pair.kernel, pair.ref
    if kernel is None and ref is None:
        return None
    used = {one.timer: one.dropped_by_clock for one in (kernel, ref) if one is not None}
    return DeviceTimes(
        **_side_fields("kernel", kernel.samples if kernel else (), kernel.count if kernel else 0),
        **_side_fields("ref", ref.samples if ref else (), ref.count if ref else 0),
        speedup=ratio(ref.median_us if ref else None, kernel.median_us if kernel else None),
        dropped_by_clock=sum(used.values()),
        method=device_method(kernel, ref),
        kernel_estimator=kernel.timer if kernel else None,
        ref_estimator=ref.timer if ref else None,
        kernel_cross_check=_check(capture, "kernel", kernel, pair.kernel_found),
        ref_cross_check=_check(capture, "ref", ref, pair.ref_found),
    )


def device_method(kernel: Estimate | None, ref: Estimate | None) -> str:
    """How the two sides were measured, in words."""
    if kernel is None or ref is None or kernel.method == ref.method:
        return next((one.method for one in (kernel, ref) if one is not None), "")
    return f"kernel: {kernel.method}; reference: {ref.method}"


def _check(capture: Capture, side: Side, chosen: Estimate | None, found: Candidates) -> CrossCheck | None:
    other = second_opinion(chosen, found) if chosen is not None else None
    if chosen is None or other is None:
        return None
    return cross_check(chosen, other, largest_grid(capture, side), launch_count(capture, side))


def timer_view(series: Sequence[Series], timer: Timer) -> View:
    """The raw view of one timer, its bias left in."""
    found = {cache: _series_of(series, timer, cache) for cache in CACHES}
    return View(**{cache: _view_times(one) for cache, one in found.items() if one is not None})


def _series_of(series: Sequence[Series], timer: Timer, cache: Cache) -> Series | None:
    return next((one for one in series if one.timer == timer and one.cache == cache), None)


def _view_times(series: Series) -> ViewTimes | None:
    if not series.kernel_us and not series.ref_us:
        return None
    kernel, ref = summarise(series.kernel_us), summarise(series.ref_us)
    return ViewTimes(
        **_side_fields("kernel", series.kernel_us, series.kernel_count),
        **_side_fields("ref", series.ref_us, series.ref_count),
        speedup=ratio(ref.median if ref else None, kernel.median if kernel else None),
        dropped_by_clock=series.dropped_by_clock,
        method=EVENTS_RAW if series.timer == "event" else METHODS[series.timer],
    )


def _side_fields(side: Side, samples: Sequence[float], count: int) -> dict[str, Any]:
    summary = summarise(samples)
    fields: dict[str, Any] = {f"{side}_count": count}
    if summary is not None:
        numbers = (summary.median, summary.mean, summary.std, summary.minimum, summary.p95)
        for name, number in zip(("median", "mean", "std", "min", "p95"), numbers, strict=True):
            fields[f"{side}_{name}_us"] = number
    return fields


def ratio(ref_us: float | None, kernel_us: float | None) -> float | None:
    """``ref_us / kernel_us`` exactly; None where a side is missing or not above 0."""
    if ref_us is None or kernel_us is None or not ref_us > 0 or not kernel_us > 0:
        return None
    return ref_us / kernel_us


def samples_by_view(
    series: Sequence[Series], pairs: dict[Cache, DevicePair], headline: tuple[str, Cache]
) -> dict[str, Samples]:
    """One set of samples a view: in the headline's cache state where the view has that, else in the other."""
    headline_view, first_cache = headline
    order: tuple[Cache, ...] = (first_cache, *(cache for cache in CACHES if cache != first_cache))
    found: dict[str, Samples] = {}
    for cache in order:
        pair = pairs[cache]
        if "device" not in found and (pair.kernel is not None or pair.ref is not None):
            kernel, ref = pair.kernel, pair.ref
            found["device"] = _samples(
                cache,
                FULL_SAMPLES if headline_view == "device" else THIN_SAMPLES,
                (kernel.samples if kernel else (), kernel.count if kernel else 0),
                (ref.samples if ref else (), ref.count if ref else 0),
            )
    for timer in VIEW_TIMERS:
        for cache in order:
            one = _series_of(series, timer, cache)
            if timer not in found and one is not None and (one.kernel_us or one.ref_us):
                limit = FULL_SAMPLES if headline_view == timer else THIN_SAMPLES
                found[timer] = _samples(cache, limit, (one.kernel_us, one.kernel_count), (one.ref_us, one.ref_count))
    return found


def _samples(
    cache: Cache, limit: int, kernel: tuple[Sequence[float], int], ref: tuple[Sequence[float], int]
) -> Samples:
    return Samples(
        cache=cache,
        kernel=thin(kernel[0], limit),
        ref=thin(ref[0], limit),
        kernel_count=kernel[1],
        ref_count=ref[1],
    )


def repeats(capture: Capture) -> tuple[Repeats, ...]:
    """Medians of fresh processes, by timer and cache state, and their spread."""
    taken = capture.timing.repeats if capture.timing else ()
    found: list[Repeats] = []
    for timer, cache in dict.fromkeys((one.timer, one.cache) for one in taken):
        of_kind = [one for one in taken if (one.timer, one.cache) == (timer, cache)]
        kernel = tuple(one.kernel_us for one in of_kind if one.kernel_us is not None)
        ref = tuple(one.ref_us for one in of_kind if one.ref_us is not None)
        found.append(
            Repeats(
                timer=timer,
                cache=cache,
                kernel_us=kernel,
                ref_us=ref,
                kernel_spread_pct=spread_pct(kernel),
                ref_spread_pct=spread_pct(ref),
            )
        )
    return tuple(found)
