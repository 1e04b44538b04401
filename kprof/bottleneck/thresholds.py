"""The borders that verdicts are held against, each with its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kprof.floor import EMPTY_KERNEL_US


@dataclass(frozen=True)
class Thresholds:
    """All borders in one place. Percentages are of a unit's peak over elapsed time unless they say otherwise."""

    saturated_pct: float = 80.0
    """From here a unit is the bound. Nsight Compute, SOLBottleneck rule."""
    busy_pct: float = 60.0
    """Below it on both sides nothing is near its peak: latency. Nsight Compute, SOLBottleneck rule."""
    ahead_points: float = 10.0
    """One side this far ahead of the other leads; closer they are balanced. Nsight Compute, SOLBottleneck rule."""
    least_samples: float = 200.0
    """Samples of warp states that a share rests on: one of 50 % then has a standard error of 3.5 points (binomial)."""
    empty_kernel_us: float = EMPTY_KERNEL_US
    """No step brings a kernel below the time of one that does nothing."""
    stall_share: float = 0.3
    """A warp state from this share of all is worth naming. Nsight Compute, CPIStall rule."""
    low_occupancy_pct: float = 50.0
    """Under half of the warps a multiprocessor holds, few remain to hide latency behind. Nsight Compute speaks from
    80 %; at half the answer to too few warps is still at most twice the speed."""
    least_gain: float = 1.1
    """A cause whose removal gains less is not worth naming: runs of the same kernel differ by some percent."""
    imbalance_x: float = 1.5
    """Elapsed over mean active cycles of the multiprocessors: a third of them stood idle while the last one worked.
    The tail of one full wave and a partial one is 2 (Nsight Compute, LaunchConfiguration rule)."""
    hot_slice_pct: float = 10.0
    """The busiest L2 slice's atomic unit from here queues requests: 33 % in a scatter_add into 8 slots on an H200 that
    was bound by it; other kernels there read 0."""
    hot_slice_x: float = 8.0
    """The busiest slice over the mean of all (94 on an H200): a few addresses take most atomics."""
    atomic_share: float = 0.5
    """Atomics and reductions of the sectors that the multiprocessors ask L2 for."""
    gpu_busy_share: float = 0.5
    """Device time of one call over what one of many calls takes on the host: below it the GPU stands idle most of the
    time. Measured on an H200: 0.11 for a call of 1.4 us, 0.43 for one of 7.9 us, 0.78 for one of 226 us."""
    divergent_threads: float = 24.0
    """Threads of an instruction below which divergence is worth naming. Nsight Compute, ThreadDivergence rule."""
    conflict_share: float = 0.1
    """Bank conflicts of the wavefronts in shared memory. Nsight Compute, SharedMemoryConflicts rule."""
    sector_use_pct: float = 80.0
    """Bytes used of the sectors moved, below which access is worth naming: mended, a fifth of the traffic goes."""
    sector_share: float = 0.1
    """Loads or stores of all global sectors, below which how they access memory is not worth naming."""
    dominant_part: float = 0.5
    """A part from which a unit is called by it: shared memory in L1's data pipe, FP16 in the FMA pipe."""
    near_border: float = 0.02
    """Relative change of the values within which another label is named: counters of two runs differ by about 1 %."""


THRESHOLDS: Final = Thresholds()
