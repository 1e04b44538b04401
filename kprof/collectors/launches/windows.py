"""What stretches of a profiled run launched: annotated windows, and the device rows and host calls that belong to them.

Pure. A device row belongs to the window in which its launch began, on whatever thread; names and device times decide
nothing, so that a flush before the window stays out of it and a fill inside it counts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from kprof.collectors.launches.trace import DeviceRow, HostCall, HostEvent, TraceEvents
from kprof.evidence import Record

_GRAPH_LAUNCHES: Final = frozenset({"cudaGraphLaunch", "cuGraphLaunch"})
LAUNCH_CALLS: Final = _GRAPH_LAUNCHES | {
    "cudaLaunch",
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cudaLaunchCooperativeKernel",
    "cudaLaunchCooperativeKernelMultiDevice",
    "cuLaunch",
    "cuLaunchGrid",
    "cuLaunchGridAsync",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuLaunchCooperativeKernel",
    "cuLaunchCooperativeKernelMultiDevice",
}
"""Calls that launch kernels, runtime and driver (CUDA 13 API references)."""
_MEMORY_CALL: Final = re.compile(r"cu(da)?(Mem|Array)")
_VARIANT: Final = re.compile(r"(_v\d+|_ptsz|_ptds)+$")
"""What CUPTI appends to a name: the version of the interface, or per-thread default streams."""


class Window(Record, frozen=True, kw_only=True):
    """One annotated stretch of host time and what it launched."""

    name: str
    start_ns: int
    end_ns: int
    rows: tuple[DeviceRow, ...] = ()
    """By start."""
    calls: tuple[HostCall, ...] = ()
    """By start."""
    operators: tuple[HostEvent, ...] = ()
    """Outermost torch operators: those inside no other on the same thread."""

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def signature(self) -> Counter[tuple[str, str]]:
        """How often each piece of device work occurs, by kind and name."""
        return Counter((row.kind, row.name) for row in self.rows)


def find_windows(events: TraceEvents, prefix: str) -> tuple[Window, ...]:
    """The windows annotated with names that begin with ``prefix``, by start.

    A device row whose launching call is not in the trace (driver calls other than launches are not recorded by older
    versions of torch) belongs to the window of the operator or annotation that it was launched under.
    """
    calls = sorted(events.calls, key=lambda call: call.start_ns)
    call_starts = [call.start_ns for call in calls]
    operators = sorted(_outermost(events.operators), key=lambda event: event.start_ns)
    operator_starts = [event.start_ns for event in operators]
    launched = _rows_by_correlation(events)
    orphans = _orphans(events)
    orphan_starts = [start for start, _ in orphans]
    found = []
    for mark in sorted(events.annotations, key=lambda event: event.start_ns):
        if not mark.name.startswith(prefix):
            continue
        inside = calls[_within(call_starts, mark)]
        correlations = {call.correlation for call in inside if call.correlation is not None}
        rows = [row for correlation in correlations for row in launched.get(correlation, ())]
        rows += [row for _, row in orphans[_within(orphan_starts, mark)]]
        found.append(
            Window(
                name=mark.name,
                start_ns=mark.start_ns,
                end_ns=mark.end_ns,
                rows=tuple(sorted(rows, key=lambda row: (row.start_ns, row.end_ns))),
                calls=tuple(inside),
                operators=tuple(operators[_within(operator_starts, mark)]),
            )
        )
    return tuple(found)


def _within(starts: Sequence[int], mark: HostEvent) -> slice:
    return slice(bisect_left(starts, mark.start_ns), bisect_left(starts, mark.end_ns))


def _rows_by_correlation(events: TraceEvents) -> dict[int, list[DeviceRow]]:
    launched: dict[int, list[DeviceRow]] = defaultdict(list)
    for row in events.device_rows:
        if row.correlation is not None:
            launched[row.correlation].append(row)
    return launched


def _orphans(events: TraceEvents) -> list[tuple[int, DeviceRow]]:
    """Rows without a call in the trace, with the start of the host event they were launched under, by that start."""
    known = {call.correlation for call in events.calls}
    under = {event.external_id: event.start_ns for event in (*events.annotations, *events.operators)}
    orphans = [
        (under[row.external_id], row)
        for row in events.device_rows
        if row.correlation not in known and row.external_id is not None and row.external_id in under
    ]
    return sorted(orphans, key=lambda pair: (pair[0], pair[1].start_ns))


def _outermost(events: Iterable[HostEvent]) -> list[HostEvent]:
    """Those that no other on the same thread contains."""
    outer: list[HostEvent] = []
    ends: dict[str, int] = {}
    for event in sorted(events, key=lambda item: (item.start_ns, -item.duration_ns)):
        if event.start_ns >= ends.get(event.thread, event.start_ns):
            outer.append(event)
            ends[event.thread] = event.end_ns
    return outer


def launch_calls(window: Window) -> tuple[HostCall, ...]:
    """The host calls that launched kernels, each launch once.

    The runtime's call may contain the driver's, with the same correlation id or one of its own: only the outer one
    counts. A call of a name not known here counts when a kernel carries its correlation id. The replay of a graph is
    one launch.
    """
    behind_kernels = {row.correlation for row in window.rows if row.kind == "kernel"} - {None}
    counted: list[HostCall] = []
    seen: set[int] = set()
    ends: dict[str, int] = {}
    for call in sorted(window.calls, key=lambda item: (item.start_ns, -item.duration_ns)):
        if not _launches(call, behind_kernels):
            continue
        nested = call.end_ns <= ends.get(call.thread, call.start_ns - 1)
        if not nested and (call.correlation is None or call.correlation not in seen):
            counted.append(call)
            ends[call.thread] = call.end_ns
        if call.correlation is not None:
            seen.add(call.correlation)
    return tuple(counted)


def _launches(call: HostCall, behind_kernels: set[int | None]) -> bool:
    name = _VARIANT.sub("", call.name)
    return name in LAUNCH_CALLS or (call.correlation in behind_kernels and not _MEMORY_CALL.match(name))


def graph_correlations(window: Window) -> frozenset[int]:
    """Correlation ids of replays of graphs; every row with one of them was launched by a graph."""
    return frozenset(
        call.correlation
        for call in window.calls
        if call.correlation is not None and _VARIANT.sub("", call.name) in _GRAPH_LAUNCHES
    )


def queue_kept_full(window: Window) -> bool | None:
    """The last launch of the window had returned before the first of its work began; None without launches.

    Copies and fills are launches too here: whatever put a row on the device.
    """
    behind_rows = {row.correlation for row in window.rows}
    ends = [call.end_ns for call in window.calls if call.correlation in behind_rows and call.correlation is not None]
    return max(ends) <= window.rows[0].start_ns if ends else None


def span_ns(rows: Sequence[DeviceRow]) -> int | None:
    """First start to last end over all streams; None without rows."""
    if not rows:
        return None
    return max(row.end_ns for row in rows) - min(row.start_ns for row in rows)
