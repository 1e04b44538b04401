"""What the command line says about hardware counters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class CounterOptions:
    """How Nsight Compute is run."""

    ncu: str | None = None
    """The program; None: the first ``ncu`` on PATH."""
    counters: Literal["default", "full"] = "default"
    """``full``: also Nsight Compute's own set ``full``, all tensor sums and all ratios of warp states, in one run."""
    max_launches: int = 32
    """Launches of a side that are profiled at most: the first ones."""
    kernel_filter: str | None = None
    """Regular expression on kernels' base names, as ncu takes it; None: all kernels but collectives."""
    cache_control: Literal["all", "none"] = "all"
    """``all``: caches are emptied before each pass."""
    clock_control: Literal["none", "base"] = "none"
    """``none``: the clocks are left as they are, as in the other measurements."""
    keep_report: Path | None = None
    """Where a copy of the report is kept; the reports of further runs lie beside it."""
