"""Within what a number repeats, where no samples say it.

Measured: the nine kernels of ``torch.logsumexp`` (42 to 468 us), profiled in two processes on one H200 with Nsight
Compute 2025.3.1. Largest differences: bytes of DRAM 0.06 %, of L2 0.13 %; rates, times under ncu and shares of a peak
2.6 %; achieved occupancy 1.4 %; hit rates 1.1 %; durations by torch.profiler 4.2 %; shares of warp states 0.9 points;
FLOP, sectors a request and what the launch is made of, not at all. The borders below lie above these.
"""

from __future__ import annotations

from typing import Final

RATES_PCT: Final = 4.0
"""Rates, times and shares of peaks by counters."""
BYTES_PCT: Final = 0.5
CLOCK_PCT: Final = 1.0
PROFILER_PCT: Final = 6.0
"""One call under torch.profiler: durations of kernels."""
HOST_PCT: Final = 20.0
"""One call under torch.profiler: what the host is part of, which moved by 5 and 20 % on a shared machine."""
STALL_POINTS: Final = 2.0
"""Points of the share of a warp state."""
SHORT_US: Final = 10.0
SHORT_PCT: Final = 20.0
"""Rates and shares of kernels under `SHORT_US`: their counters come from different passes and disagree by nature. Not
measured; wide, so that little is made of little."""
_BY_UNIT: Final = {
    "bytes": BYTES_PCT,
    "FLOP/byte": BYTES_PCT,
    "MHz": CLOCK_PCT,
    "us": RATES_PCT,
    "%": RATES_PCT,
    "ratio": RATES_PCT,
    "GB/s": RATES_PCT,
    "TFLOP/s": RATES_PCT,
}
_EXACT: Final = frozenset(
    {"theoretical_pct", "ld_efficiency_pct", "st_efficiency_pct", "waves_per_sm", "smem_static_bytes",
     "smem_dynamic_bytes", "kernel_peak_mb", "kernel_device_delta_mb"}
)  # fmt: skip
"""Made of the launch and of counts alone."""


def repeatability_pct(block: str, name: str, unit: str, *, short: bool) -> float:
    """Within how many percent a number of a report repeats; 0: exactly.

    Args:
        block: the block it is in.
        name: the field.
        unit: of the registry.
        short: the kernel takes less than `SHORT_US`.
    """
    if name in _EXACT:
        return 0.0
    if block == "waterfall":
        return HOST_PCT if name in ("host_us", "gap_us") else PROFILER_PCT
    if block == "launches":
        return PROFILER_PCT if unit == "us" else 0.0
    border = _BY_UNIT.get(unit, 0.0)
    return max(border, SHORT_PCT) if short and border else border
