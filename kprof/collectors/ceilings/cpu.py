"""Roofs of a processor, through torch's own operators on all the threads that torch uses.

Bandwidths are those of a read (a sum), a copy and a triad (``a = b + 3 c``, after STREAM), counted as the program asks
for them: what the caches fetch before they write is not in it. They are taken at several footprints, since a
call on the CPU finds in its caches what it has room for there. Peaks are those of torch's matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import torch

from kprof.ceilings_evidence import MeasuredCeiling, Name
from kprof.collectors.ceilings.rates import host_seconds, rate_of, time_of
from kprof.collectors.timing.sampling import preemptions
from kprof.evidence import Reason

CACHE_FOOTPRINTS: Final = (2**18, 2**20, 2**22, 2**24)
_OVER_LAST_CACHE: Final = 4
_USUAL_DRAM_FOOTPRINT: Final = 2**28
_MOST_DRAM_FOOTPRINT: Final = 2**30
_MEMORY_SHARE: Final = 8
"""The part of free memory that the arrays may take: one in so many."""
_TYPES: Final[tuple[tuple[Name, torch.dtype], ...]] = (
    ("fp32", torch.float32), ("fp64", torch.float64), ("bf16", torch.bfloat16),
)  # fmt: skip
_ORDER: Final = 768
_FULL_ORDER: Final = 2048
_CONTENDED_SHARE: Final = 0.05
"""Times that a processor was taken away, over samples, above which the samples are not those of a quiet machine."""
_CACHES: Final = Path("/sys/devices/system/cpu/cpu0/cache")
_FREE_MEMORY: Final = Path("/proc/meminfo")


def cpu_ceilings(*, quick: bool) -> Iterator[MeasuredCeiling]:
    """Bandwidths, peaks and the overhead of a call.

    Args:
        quick: about a second in all; else several.
    """
    budget_s = 0.03 if quick else 0.25
    with torch.no_grad():
        for footprint in CACHE_FOOTPRINTS:
            yield _best_of(_bandwidths(footprint, budget_s))
        yield from _dram(budget_s * 2)
        yield from _peaks(_ORDER if quick else _FULL_ORDER, budget_s * 2)
        yield _call_overhead(budget_s)


class Contention:
    """Counts how often other work takes the processors away."""

    def __init__(self) -> None:
        self._before = preemptions()

    def warning(self, samples: int) -> Reason | None:
        """What to know of that many samples taken since the start; None: the machine was quiet."""
        taken = preemptions() - self._before
        if taken <= _CONTENDED_SHARE * samples:
            return None
        return Reason(
            code="ceilings_contended",
            message=f"other work took the processors {taken} times in {samples} samples: measured roofs are too low",
            hint="Measure them again on a quiet machine: kprof doctor --ceilings.",
        )


def _bandwidths(footprint: int, budget_s: float, names: tuple[Name, Name, Name] | None = None) -> list[MeasuredCeiling]:
    """Read, copy and triad over that many bytes each."""
    read, copy, triad = names or ("cache", "cache", "cache")
    floats = footprint // 4
    whole = torch.rand(floats, generator=torch.Generator())
    half, third = floats // 2, floats // 3
    a, b = whole[:half], whole[half : 2 * half]
    x, y, z = whole[:third], whole[third : 2 * third], whole[2 * third : 3 * third]
    # Of a triad on its own results numbers would grow without end: the factor takes them towards 0.
    calls: tuple[tuple[Name, str, int, Callable[[], object]], ...] = (
        (read, "torch.sum", 4 * floats, lambda: torch.sum(whole)),
        (copy, "torch.Tensor.copy_", 8 * half, lambda: b.copy_(a)),
        (triad, "torch.add(b, c, alpha=-0.5, out=a)", 12 * third, lambda: torch.add(y, z, alpha=-0.5, out=x)),
    )
    return [
        rate_of(
            name,
            "byte/s",
            moved,
            host_seconds(call, least_s=2e-4, budget_s=budget_s),
            method,
            footprint_bytes=footprint,
        )
        for name, method, moved, call in calls
    ]


def _best_of(found: list[MeasuredCeiling]) -> MeasuredCeiling:
    return max(found, key=lambda one: one.median)


def _dram(budget_s: float) -> list[MeasuredCeiling]:
    footprint = min(_dram_footprint(), max(_free_bytes() // _MEMORY_SHARE, CACHE_FOOTPRINTS[-1]))
    return _bandwidths(footprint, budget_s, ("dram_read", "dram_copy", "dram_triad"))


def _dram_footprint() -> int:
    """Several times the last cache; where that is not known, what is usual."""
    last = max((_cache_bytes(file) for file in _CACHES.glob("index*/size")), default=0)
    return min(max(_OVER_LAST_CACHE * last, CACHE_FOOTPRINTS[-1]) or _USUAL_DRAM_FOOTPRINT, _MOST_DRAM_FOOTPRINT)


def _cache_bytes(file: Path) -> int:
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    try:
        text = file.read_text().strip()
        return int(text[:-1]) * units[text[-1]]
    except (OSError, ValueError, KeyError, IndexError):
        return 0


def _free_bytes() -> int:
    try:
        lines = _FREE_MEMORY.read_text().splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    except (OSError, ValueError, StopIteration):
        return _USUAL_DRAM_FOOTPRINT * _MEMORY_SHARE


def _peaks(order: int, budget_s: float) -> Iterator[MeasuredCeiling]:
    for name, dtype in _TYPES:
        left, right = (torch.randn(order, order, generator=torch.Generator()).to(dtype) for _ in range(2))
        out = torch.empty(order, order, dtype=dtype)
        seconds = host_seconds(lambda a=left, b=right, c=out: torch.mm(a, b, out=c), least_s=1e-3, budget_s=budget_s)  # type: ignore[misc]
        yield rate_of(name, "FLOP/s", 2 * order**3, seconds, f"torch.mm of order {order}")


class _Least(torch.nn.Module):
    """A model that does next to nothing: one operator on one element."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.neg(x)


def _call_overhead(budget_s: float) -> MeasuredCeiling:
    model, one = _Least(), torch.ones(1)
    seconds = host_seconds(lambda: model(one), least_s=2e-4, budget_s=budget_s)
    return time_of("call", [1e6 * s for s in seconds], "a module whose forward runs one operator on one element")
