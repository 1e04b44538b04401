"""From the windows of one profiled session to launches evidence. Pure: a trace in, records out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from kprof.collectors.launches.trace import TraceEvents
from kprof.collectors.launches.windows import (
    Window,
    find_windows,
    graph_correlations,
    launch_calls,
    queue_kept_full,
    span_ns,
)
from kprof.evidence import Cache, Reason, Series, Side
from kprof.launches_evidence import Launch, LaunchesEvidence, SideLaunches

Kind = Literal["head", "plain", "cold", "warm"]
CACHES: Final[tuple[Cache, ...]] = ("cold", "warm")

DEVICE_STEP_NS: Final = 32
"""Step of CUPTI's times on the boards seen so far (gpu-facts: H200, durations move by 32 ns)."""

NO_DEVICE: Final = Reason(
    code="no_device",
    message="on the CPU nothing is launched on a device",
    hint="operator_calls counts the torch operators instead.",
)
NO_EVENTS: Final = Reason(
    code="cupti_no_events",
    message="the profiler recorded no device work at all, not even kprof's own: CUPTI did not start",
    hint="Look for another CUPTI on LD_LIBRARY_PATH, or another profiler (nsys, ncu, a debugger) that is attached.",
)
NOT_IN_WINDOW: Final = Reason(
    code="no_launches_in_window",
    message="the profiler recorded device work, but none of it was launched by this call",
    hint="The call may give back a stored result, or launch from another process.",
)
_LOST_HINT: Final = "Run it again; if it stays, profile a call with fewer launches."


class Recording(NamedTuple):
    """What is known of a session besides its trace."""

    prefix: str
    """Of the annotations: ``PREFIX`` + `window_name`."""
    sides: tuple[Side, ...]
    on_device: bool
    late: frozenset[str] = frozenset()
    """Annotations of samples whose launches the device caught up with while they were being enqueued."""


def window_name(side: Side, kind: Kind, index: int) -> str:
    """The annotation of one window, less the session's prefix."""
    return f"{side}:{kind}:{index}"


def evidence_from_trace(events: TraceEvents, recording: Recording) -> LaunchesEvidence:
    """Launches of one plain call of each side, and the spans of the sampled calls."""
    grouped: dict[tuple[str, str], list[Window]] = defaultdict(list)
    for window in find_windows(events, recording.prefix):
        side, kind, _ = window.name.removeprefix(recording.prefix).split(":")
        grouped[side, kind].append(window)
    sides = {side: _side(side, grouped, events, recording.on_device) for side in recording.sides}
    series = (_series(cache, grouped, recording) for cache in CACHES)
    return LaunchesEvidence(
        kernel=sides.get("kernel"),
        ref=sides.get("ref"),
        series=tuple(item for item in series if item is not None),
        warnings=() if events.complete else (_broken_trace(events),),
    )


def _broken_trace(events: TraceEvents) -> Reason:
    found = "ends too early" if events.truncated else f"has {events.skipped} events that cannot be read"
    return Reason(code="incomplete_trace", message=f"the profiler's trace {found}", hint=_LOST_HINT)


def _side(
    side: Side, grouped: Mapping[tuple[str, str], list[Window]], events: TraceEvents, on_device: bool
) -> SideLaunches:
    plain = grouped.get((side, "plain"), [])
    if not plain:
        lost = Reason(
            code="incomplete_trace", message="the profiler's trace does not hold the annotated call", hint=_LOST_HINT
        )
        return SideLaunches(absent=lost)
    middle = sorted(plain, key=lambda window: window.duration_ns)[len(plain) // 2]
    host_us, operator_calls = middle.duration_ns / 1e3, len(middle.operators)
    if not on_device:
        return SideLaunches(host_us=host_us, operator_calls=operator_calls, absent=NO_DEVICE)
    if not events.device_rows:
        return SideLaunches(host_us=host_us, operator_calls=operator_calls, absent=NO_EVENTS)
    calls = launch_calls(middle)
    return SideLaunches(
        launches=_launches(middle),
        host_launches=len(calls),
        operator_calls=operator_calls,
        host_us=host_us,
        absent=None if middle.rows else (_lost_rows(len(calls)) if calls else NOT_IN_WINDOW),
        warnings=tuple(_warnings(plain, [grouped.get((side, cache), []) for cache in CACHES])),
    )


def _launches(window: Window) -> tuple[Launch, ...]:
    replayed = graph_correlations(window)
    return tuple(
        Launch(
            kind=row.kind,
            name=row.name,
            stream=row.stream,
            start_us=(row.start_ns - window.start_ns) / 1e3,
            duration_us=row.duration_ns / 1e3,
            grid=row.grid,
            block=row.block,
            registers_per_thread=row.registers_per_thread,
            shared_bytes=row.shared_bytes,
            correlation=row.correlation,
            graph=row.in_graph or row.correlation in replayed,
        )
        for row in window.rows
    )


def _lost_rows(count: int) -> Reason:
    return Reason(
        code="incomplete_trace",
        message=f"{count} launches on the host have no device work in the profiler's trace",
        hint=_LOST_HINT,
    )


def _warnings(plain: Sequence[Window], sampled: Sequence[Sequence[Window]]) -> Iterable[Reason]:
    if any(window.signature != plain[0].signature for window in plain):
        counts = ", ".join(str(len(window.rows)) for window in plain)
        yield Reason(
            code="launch_count_varies",
            message=f"equal calls launched different work: {counts} pieces in {len(plain)} calls",
            hint="Compare the launches of several runs; a cache or a branch on the data decides what is launched.",
        )
    uneven = sorted({name for windows in sampled for name in uneven_names(windows)})
    if uneven:
        yield Reason(
            code="incomplete_trace",
            message=f"the sampled calls do not share their launches evenly: {', '.join(uneven[:3])[:300]}",
            hint=_LOST_HINT,
        )
    missing = min(_calls_without_rows(window) for window in plain)
    if missing and all(window.rows for window in plain):
        yield _lost_rows(missing)


def uneven_names(windows: Sequence[Window]) -> list[str]:
    """Names of device work whose number of events is no multiple of the number of equal calls: some were lost."""
    total: Counter[tuple[str, str]] = Counter()
    for window in windows:
        total += window.signature
    return [name for (_, name), count in total.items() if count % len(windows)]


def _calls_without_rows(window: Window) -> int:
    behind_rows = {row.correlation for row in window.rows}
    return sum(call.correlation is not None and call.correlation not in behind_rows for call in launch_calls(window))


def _series(cache: Cache, grouped: Mapping[tuple[str, str], list[Window]], recording: Recording) -> Series | None:
    kernel = _usable(grouped.get(("kernel", cache), []), recording.late)
    ref = _usable(grouped.get(("ref", cache), []), recording.late)
    if not kernel and not ref:
        return None
    both = (*kernel, *ref)
    full = {queue_kept_full(window) for window in both}
    return Series(
        timer="cupti",
        cache=cache,
        kernel_us=_spans(kernel),
        ref_us=_spans(ref),
        kernel_count=len(kernel),
        ref_count=len(ref),
        queue_kept_full=False if False in full else (None if None in full else True),
        resolution_us=resolution_us(row.duration_ns for window in both for row in window.rows),
    )


def _usable(windows: list[Window], late: frozenset[str]) -> list[Window]:
    """Windows that hold what most of them hold and were enqueued in time; late ones too where most are late.

    Left out by what was launched and when it was enqueued, never by how long it took.
    """
    in_time = [window for window in windows if window.name not in late]
    if 2 * len(in_time) >= len(windows):
        windows = in_time
    held = Counter(frozenset(window.signature.items()) for window in windows if window.rows)
    if not held:
        return []
    usual = dict(held.most_common(1)[0][0])
    return [window for window in windows if window.signature == usual]


def _spans(windows: Sequence[Window]) -> tuple[float, ...]:
    return tuple(span / 1e3 for window in windows if (span := span_ns(window.rows)) is not None)


def resolution_us(durations_ns: Iterable[int]) -> float | None:
    """The step of the device's times: 0.032 where all durations fit that, else the smallest difference seen.

    A duration fits within 1 ns: the conversion of ticks rounds start and end.
    """
    distinct = sorted(set(durations_ns))
    if not distinct:
        return None
    if all((value + 1) % DEVICE_STEP_NS <= 2 for value in distinct):
        return DEVICE_STEP_NS / 1e3
    steps = [after - before for before, after in pairwise(distinct)]
    return min(steps) / 1e3 if steps else None
