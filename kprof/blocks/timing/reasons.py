"""Why a field of the timing block is null."""

from __future__ import annotations

from kprof.blocks.base import missing_code, on_cuda
from kprof.blocks.timing.clocks import ClockState
from kprof.blocks.timing.device_time import all_series, why_no_second
from kprof.blocks.timing.headline import Headline
from kprof.blocks.timing.view_times import DevicePair
from kprof.capture import Capture
from kprof.evidence import Cache, Side

_CLOCK_FIELDS = ("sm_clock_mhz", "power_capped", "throttle_reasons", "power_w", "power_limit_w")


def explain_timing(
    capture: Capture, pairs: dict[Cache, DevicePair], made: Headline, clocks: ClockState, path: str
) -> str:
    """The code for the null at ``path``."""
    view, *rest = path.split(".")
    if view in ("device", "event", "host", "host_stream", "graph"):
        cache: Cache = "cold" if rest[0] == "cold" else "warm"
        return _view_code(capture, pairs, view, cache) if len(rest) == 1 else _field_code(capture, pairs[cache], path)
    if view.startswith("repeats"):
        return _repeats_code(capture, path)
    if path in _CLOCK_FIELDS:
        return clocks.absent_code
    return _headline_code(capture, made, clocks, path)


def _side_of(name: str) -> Side:
    return "ref" if name.startswith("ref") else "kernel"


def _view_code(capture: Capture, pairs: dict[Cache, DevicePair], view: str, cache: Cache) -> str:
    if view == "graph" and cache == "cold" and on_cuda(capture):
        return "warm_only"
    told = _told(capture, view, cache, "kernel")
    if told is not None:
        return told
    if view != "host" and not on_cuda(capture):
        return "no_device"
    return missing_code(capture, "timing", "kernel")


def _told(capture: Capture, view: str, cache: Cache, side: Side) -> str | None:
    """What the collector said of a series, or of a side of it, that is missing; device time lacks its events first."""
    timer = "event" if view == "device" else view
    absent = capture.timing.absent if capture.timing else {}
    reason = absent.get(f"{timer}.{cache}") or absent.get(f"{timer}.{side}") or absent.get(timer)
    return reason.code if reason else None


def _field_code(capture: Capture, pair: DevicePair, path: str) -> str:
    view, _, name = path.split(".", 2)
    side = _side_of(name)
    estimate, found = (pair.kernel, pair.kernel_found) if side == "kernel" else (pair.ref, pair.ref_found)
    if name.endswith("cross_check") and estimate is not None:
        return why_no_second(estimate, found)
    if name.endswith("_std_us") and _sample_count(capture, pair, view, side) == 1:
        return "too_few_samples"
    if name == "speedup":
        return _speedup_code(capture, _has(capture, pair, view, "kernel"), _has(capture, pair, view, "ref"))
    return _missing_series_code(capture, view, pair.cache, side)


def _has(capture: Capture, pair: DevicePair, view: str, side: Side) -> bool:
    return _sample_count(capture, pair, view, side) > 0


def _sample_count(capture: Capture, pair: DevicePair, view: str, side: Side) -> int:
    if view == "device":
        estimate = pair.kernel if side == "kernel" else pair.ref
        return len(estimate.samples) if estimate else 0
    of_view = (one for one in all_series(capture) if (one.timer, one.cache) == (view, pair.cache))
    return next((len(one.kernel_us if side == "kernel" else one.ref_us) for one in of_view), 0)


def _missing_series_code(capture: Capture, view: str, cache: Cache, side: Side) -> str:
    if side == "ref" and not capture.has_reference:
        return "no_reference"
    return _told(capture, view, cache, side) or missing_code(capture, "timing", side)


def _speedup_code(capture: Capture, has_kernel: bool, has_ref: bool) -> str:
    if has_kernel and has_ref:
        return "not_above_zero"
    return missing_code(capture, "timing", "ref" if has_kernel else "kernel")


def _repeats_code(capture: Capture, path: str) -> str:
    side = _side_of(path.rsplit(".", 1)[-1])
    if side == "ref" and not capture.has_reference:
        return "no_reference"
    return "too_few_repeats"


def _headline_code(capture: Capture, made: Headline, clocks: ClockState, path: str) -> str:
    side = _side_of(path)
    time = made.ref_us if side == "ref" else made.kernel_us
    if path in ("speedup", "speedup_ci95"):
        if path == "speedup_ci95" and made.speedup is not None:
            return "too_few_samples"
        return _speedup_code(capture, made.kernel_us is not None, made.ref_us is not None)
    if path.endswith("_cycles") and time is not None:
        return clocks.absent_code
    if path in ("resolution_limited", "kernel_step_us", "ref_step_us") and time is not None:
        return "resolution_unknown"
    if path in ("clock_dropped", "flush_bytes", "kernel_off_current_stream"):
        return "not_collected" if on_cuda(capture) else "no_device"
    return _missing_series_code(capture, made.view, made.cache, side)
