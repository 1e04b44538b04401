"""The records of the views of time: what was sampled, by which timer, in which cache state."""

from __future__ import annotations

from typing import Annotated, Final

from kprof.evidence import Cache, Record, Timer
from kprof.metrics import metric

_SAMPLES: Final = "the samples of this view"
_RULES: Final = "kprof's own rules"
_CLOCK: Final = "NVML before and after each group of samples"


class ViewTimes(Record, frozen=True, kw_only=True):
    """Times of one call in one view and one cache state, kernel and reference sampled interleaved."""

    kernel_median_us: Annotated[float | None, metric("us", "Kernel: median", better="lower", source=_SAMPLES)] = None
    kernel_mean_us: Annotated[float | None, metric("us", "Kernel: mean", better="lower", source=_SAMPLES)] = None
    kernel_std_us: Annotated[
        float | None, metric("us", "Kernel: sample standard deviation", better="lower", source=_SAMPLES)
    ] = None
    kernel_min_us: Annotated[float | None, metric("us", "Kernel: least", better="lower", source=_SAMPLES)] = None
    kernel_p95_us: Annotated[float | None, metric("us", "Kernel: 95th percentile", better="lower", source=_SAMPLES)] = (
        None
    )
    kernel_count: Annotated[int, metric("count", "Kernel: samples taken", source=_SAMPLES)] = 0
    ref_median_us: Annotated[float | None, metric("us", "Reference: median", source=_SAMPLES)] = None
    ref_mean_us: Annotated[float | None, metric("us", "Reference: mean", source=_SAMPLES)] = None
    ref_std_us: Annotated[float | None, metric("us", "Reference: sample standard deviation", source=_SAMPLES)] = None
    ref_min_us: Annotated[float | None, metric("us", "Reference: least", source=_SAMPLES)] = None
    ref_p95_us: Annotated[float | None, metric("us", "Reference: 95th percentile", source=_SAMPLES)] = None
    ref_count: Annotated[int, metric("count", "Reference: samples taken", source=_SAMPLES)] = 0
    speedup: Annotated[
        float | None, metric("ratio", "ref_median_us / kernel_median_us", better="higher", source=_SAMPLES)
    ] = None
    dropped_by_clock: Annotated[
        int, metric("count", "Samples left out because the SM clock strayed", source=_CLOCK)
    ] = 0
    method: Annotated[str, metric("text", "How a sample was taken", source=_RULES)]


class View(Record, frozen=True, kw_only=True):
    """One view of time; null: not measured in that cache state."""

    cold: Annotated[ViewTimes | None, metric("record", "L2 emptied before each call", source=_SAMPLES)] = None
    warm: Annotated[ViewTimes | None, metric("record", "Calls one after the other", source=_SAMPLES)] = None


class CrossCheck(Record, frozen=True, kw_only=True):
    """A second estimator held against the chosen one."""

    timer: Annotated[Timer, metric("text", "The second estimator", source=_RULES)]
    median_us: Annotated[float, metric("us", "Its median", source=_SAMPLES)]
    difference_us: Annotated[float, metric("us", "Its median less the chosen one's", source=_SAMPLES)]
    unexplained_us: Annotated[
        float, metric("us", "What the known biases of the two cannot explain", better="lower", source=_RULES)
    ]
    agrees: Annotated[
        bool, metric("bool", "Unexplained is within 3 % or within 0.5 us", better="higher", source=_RULES)
    ]


class DeviceTimes(ViewTimes, frozen=True, kw_only=True):
    """Time on the device, each side by the estimator with the least bias for its size, bias taken off."""

    kernel_estimator: Annotated[Timer | None, metric("text", "Kernel: the estimator chosen", source=_RULES)] = None
    ref_estimator: Annotated[Timer | None, metric("text", "Reference: the estimator chosen", source=_RULES)] = None
    kernel_cross_check: Annotated[CrossCheck | None, metric("record", "Kernel: a second estimator", source=_RULES)] = (
        None
    )
    ref_cross_check: Annotated[CrossCheck | None, metric("record", "Reference: a second estimator", source=_RULES)] = (
        None
    )


class DeviceView(Record, frozen=True, kw_only=True):
    """First kernel start to last kernel end on the device, all streams; null: not measured in that cache state."""

    cold: Annotated[DeviceTimes | None, metric("record", "L2 emptied before each call", source=_RULES)] = None
    warm: Annotated[DeviceTimes | None, metric("record", "Calls one after the other", source=_RULES)] = None


class Samples(Record, frozen=True, kw_only=True):
    """Samples of one view. The headline's in full up to 1000, others thinned evenly to 200."""

    cache: Annotated[Cache, metric("text", "Cache state they were taken in", source=_SAMPLES)]
    kernel: Annotated[
        tuple[float, ...] | None, metric("us", "Kernel, in the order taken", better="lower", source=_SAMPLES)
    ]
    ref: Annotated[tuple[float, ...] | None, metric("us", "Reference, in the order taken", source=_SAMPLES)]
    kernel_count: Annotated[int, metric("count", "Kernel: samples taken, before thinning", source=_SAMPLES)]
    ref_count: Annotated[int, metric("count", "Reference: samples taken, before thinning", source=_SAMPLES)]


class Repeats(Record, frozen=True, kw_only=True):
    """Medians of fresh timing processes, one each: the noise between processes."""

    timer: Annotated[Timer, metric("text", "The timer, its own bias not taken off", source=_RULES)]
    cache: Annotated[Cache, metric("text", "Cache state", source=_RULES)]
    kernel_us: Annotated[
        tuple[float, ...] | None, metric("us", "Kernel: median of each process", better="lower", source=_SAMPLES)
    ]
    ref_us: Annotated[tuple[float, ...] | None, metric("us", "Reference: median of each process", source=_SAMPLES)]
    kernel_spread_pct: Annotated[
        float | None, metric("%", "Kernel: (max - min) / median", better="lower", source=_SAMPLES)
    ]
    ref_spread_pct: Annotated[float | None, metric("%", "Reference: (max - min) / median", source=_SAMPLES)]
