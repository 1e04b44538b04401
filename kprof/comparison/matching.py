"""Which kernels of two reports are the same one: by name, grid and block; what is left over by the name alone.

Launches of different devices are never added up. Of two reports of one device each, it is the same one whatever its
index in the process; of others, kernels match within a device.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, Literal

from kprof.blocks.kernels import KernelLaunch
from kprof.comparison.changes import compared
from kprof.comparison.noise import BYTES_PCT, PROFILER_PCT
from kprof.comparison.records import KernelGroup, KernelMatch, MetricChange

_MOST_IDS: Final = 100


def kernel_groups(kernels: Iterable[KernelLaunch]) -> list[KernelGroup]:
    """Launches of one kernel with one configuration on one device together, the reference's last, most time first."""
    together: dict[Hashable, list[KernelLaunch]] = {}
    for one in kernels:
        together.setdefault((one.side, one.device, one.name, one.grid, one.block), []).append(one)
    groups = [_group(launches) for launches in together.values()]
    return sorted(groups, key=lambda group: (group.side == "ref", -(group.total_us or 0.0)))


def _group(launches: Sequence[KernelLaunch]) -> KernelGroup:
    longest = max(launches, key=lambda one: one.duration_us or 0.0)
    bound = longest.bottleneck
    return KernelGroup(
        name=longest.name,
        side=longest.side,
        device=longest.device,
        grid=longest.grid,
        block=longest.block,
        launches=len(launches),
        ids=tuple(one.id for one in launches[:_MOST_IDS]),
        total_us=_sum(one.duration_us for one in launches),
        dram_bytes=_sum(one.roofline.dram_bytes if one.roofline is not None else None for one in launches),
        bound=None if bound is None else bound.limiter or bound.family,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    """None where one of them is."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def match_kernels(
    a: list[KernelGroup], b: list[KernelGroup]
) -> tuple[list[KernelMatch], list[KernelGroup], list[KernelGroup]]:
    """Matches, what only ``b`` has, what only ``a`` has."""
    several = any(len({one.device for one in groups}) > 1 for groups in (a, b))

    def place(one: KernelGroup) -> Hashable:
        return one.side, one.device if several else None

    exact, a, b = _matched(a, b, "configuration", lambda one: (place(one), one.name, one.grid, one.block))
    named, a, b = _matched(a, b, "name", lambda one: (place(one), one.name))
    matches = sorted((*exact, *named), key=_order)
    return matches, b, a


def _order(one: KernelMatch) -> tuple[bool, float]:
    """The kernel's own launches before the reference's, most time first."""
    return one.b.side == "ref", -max(one.a.total_us or 0.0, one.b.total_us or 0.0)


def _matched(
    a: list[KernelGroup],
    b: list[KernelGroup],
    by: Literal["configuration", "name"],
    key: Callable[[KernelGroup], Hashable],
) -> tuple[list[KernelMatch], list[KernelGroup], list[KernelGroup]]:
    """Pairs of equal keys, those with most time first, and what is left of both."""
    waiting: dict[Hashable, list[KernelGroup]] = {}
    for one in a:
        waiting.setdefault(key(one), []).append(one)
    matches: list[KernelMatch] = []
    left: list[KernelGroup] = []
    for other in b:
        candidates = waiting.get(key(other))
        if candidates:
            one = candidates.pop(0)
            matches.append(KernelMatch(matched_by=by, a=one, b=other, changes=_changes(one, other)))
        else:
            left.append(other)
    unmatched = {id(one) for candidates in waiting.values() for one in candidates}
    return matches, [one for one in a if id(one) in unmatched], left


def _changes(a: KernelGroup, b: KernelGroup) -> tuple[MetricChange, ...]:
    numbers: tuple[tuple[str, str, str, Any, float], ...] = (
        ("total_us", "time", "us", "lower", PROFILER_PCT),
        ("launches", "launches", "count", "lower", 0.0),
        ("dram_bytes", "DRAM bytes", "bytes", "lower", BYTES_PCT),
        ("bound", "bound", "text", None, 0.0),
    )
    return tuple(
        compared((name, label, unit, better), (getattr(a, name), getattr(b, name)), noise_pct=noise)
        for name, label, unit, better, noise in numbers
    )
