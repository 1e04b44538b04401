"""Reads a Chrome trace as torch.profiler exports it: device rows, host calls, annotations, operators, allocations.

Pure: bytes in, records out. Times are whole nanoseconds on the trace's own clock, which host and device rows share.
What is no work of the device (overhead, annotations drawn on the device's lane, Python frames) is left out. What a
stretch of a run launched is found in ``windows``.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal, TypeVar

from kprof.collectors.launches.tracejson import EventList, read_events
from kprof.errors import CannotMeasureError
from kprof.evidence import Record

MAX_TRACE_BYTES: Final = 256 * 2**20
"""Larger traces are refused: reading one takes about ten times its size in memory."""

DEVICE_KINDS: Final[Mapping[str, Literal["kernel", "memcpy", "memset"]]] = {
    "kernel": "kernel",
    "gpu_memcpy": "memcpy",
    "gpu_memset": "memset",
}
_CALL_CATEGORIES: Final = frozenset({"cuda_runtime", "cuda_driver"})
_MAX_EXPONENT: Final = 24
"""Powers of ten beyond which a number in a trace is no time (10**24 us is longer than the universe is old)."""
_ID_KEYS: Final = ("graph id", "graph node id")
"""Arguments of rows that a graph's replay launched, written since kineto's pull request 1276 (2026)."""


class DeviceRow(Record, frozen=True, kw_only=True):
    """One kernel, copy or fill on the device."""

    kind: Literal["kernel", "memcpy", "memset"]
    name: str
    start_ns: int
    duration_ns: int
    stream: int | None = None
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    registers_per_thread: int | None = None
    shared_bytes: int | None = None
    """Static and dynamic together, as kineto adds them."""
    correlation: int | None = None
    external_id: int | None = None
    """Of the operator or annotation that was innermost when this was launched."""
    in_graph: bool = False
    """The row itself says that a graph launched it; older versions of torch do not say."""

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.duration_ns


class HostCall(Record, frozen=True, kw_only=True):
    """One call of the CUDA runtime or driver."""

    name: str
    thread: str
    start_ns: int
    duration_ns: int
    correlation: int | None = None

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.duration_ns


class HostEvent(Record, frozen=True, kw_only=True):
    """One torch operator, or one annotation made with ``record_function``."""

    name: str
    thread: str
    start_ns: int
    duration_ns: int
    external_id: int | None = None

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.duration_ns


class MemoryChange(Record, frozen=True, kw_only=True):
    """One allocation or release by one of torch's allocators."""

    at_ns: int
    change_bytes: int
    on_cpu: bool


class TraceEvents(Record, frozen=True, kw_only=True):
    """What a trace holds, in the order written."""

    device_rows: tuple[DeviceRow, ...] = ()
    calls: tuple[HostCall, ...] = ()
    annotations: tuple[HostEvent, ...] = ()
    operators: tuple[HostEvent, ...] = ()
    memory: tuple[MemoryChange, ...] = ()
    skipped: int = 0
    """Events that could not be read, or carry no time (pytorch#188481 writes zeros for start and duration)."""
    truncated: bool = False
    """The file ends before its list of events does."""

    @property
    def complete(self) -> bool:
        return not self.skipped and not self.truncated


def read_trace(data: bytes, *, max_bytes: int = MAX_TRACE_BYTES) -> TraceEvents:
    """Read a trace, also one that is not quite JSON.

    Bare ``inf`` and ``nan``, control characters, bytes that are no UTF-8, single backslashes and a missing end are
    coped with (kineto#80, kineto#105, kineto#336, pytorch#98432, pytorch#130622): events that cannot be mended are
    counted in ``skipped``.

    Raises:
        CannotMeasureError: ``trace_too_large``, or ``trace_unreadable`` where there is no list of events.
    """
    if len(data) > max_bytes:
        raise trace_too_large(len(data), max_bytes)
    listed = read_events(data.decode("utf-8-sig", "replace"))
    if listed is None:
        raise CannotMeasureError(
            "trace_unreadable",
            f"the profiler's trace ({len(data)} bytes) holds no list of traceEvents",
            "Run it again; if it happens again, report the torch version.",
        )
    return _sorted_out(listed)


def trace_too_large(size: int, limit: int = MAX_TRACE_BYTES) -> CannotMeasureError:
    """The error for a trace of ``size`` bytes."""
    return CannotMeasureError(
        "trace_too_large",
        f"the profiler's trace has {size / 1e6:.0f} MB; at most {limit / 1e6:.0f} MB are read",
        "Profile a call with fewer launches: use smaller shapes (--set) or a part of the model.",
    )


def _sorted_out(listed: EventList) -> TraceEvents:
    """Records of the events that matter, by category."""
    skipped = listed.skipped
    rows: list[DeviceRow] = []
    calls: list[HostCall] = []
    annotations: list[HostEvent] = []
    operators: list[HostEvent] = []
    memory: list[MemoryChange] = []
    for event in listed.events:
        if not isinstance(event, dict):
            continue
        category = str(event.get("cat", "")).lower()
        if category in DEVICE_KINDS:
            skipped += not _add(rows, _device_row(event, category))
        elif category in _CALL_CATEGORIES:
            skipped += not _add(calls, _host_call(event))
        elif category == "user_annotation":
            skipped += not _add(annotations, _host_event(event))
        elif category == "cpu_op":
            skipped += not _add(operators, _host_event(event))
        elif event.get("name") == "[memory]":
            skipped += not _add(memory, _memory_change(event))
    return TraceEvents(
        device_rows=tuple(rows),
        calls=tuple(calls),
        annotations=tuple(annotations),
        operators=tuple(operators),
        memory=tuple(memory),
        skipped=skipped,
        truncated=listed.truncated,
    )


_Row = TypeVar("_Row")


def _add(rows: list[_Row], row: _Row | None) -> bool:
    if row is None:
        return False
    rows.append(row)
    return True


def _device_row(event: dict[str, Any], category: str) -> DeviceRow | None:
    times, args = _times(event), _arguments(event)
    if times is None:
        return None
    return DeviceRow(
        kind=DEVICE_KINDS[category],
        name=str(event.get("name", "")),
        start_ns=times[0],
        duration_ns=times[1],
        stream=_integer(args.get("stream")),
        grid=_triple(args.get("grid")),
        block=_triple(args.get("block")),
        registers_per_thread=_integer(args.get("registers per thread")),
        shared_bytes=_integer(args.get("shared memory")),
        correlation=_integer(args.get("correlation")),
        external_id=_integer(args.get("External id")),
        in_graph=any(_integer(args.get(key)) for key in _ID_KEYS),
    )


def _host_call(event: dict[str, Any]) -> HostCall | None:
    times = _times(event)
    if times is None:
        return None
    return HostCall(
        name=str(event.get("name", "")),
        thread=_thread(event),
        start_ns=times[0],
        duration_ns=times[1],
        correlation=_integer(_arguments(event).get("correlation")),
    )


def _host_event(event: dict[str, Any]) -> HostEvent | None:
    times = _times(event)
    if times is None:
        return None
    return HostEvent(
        name=str(event.get("name", "")),
        thread=_thread(event),
        start_ns=times[0],
        duration_ns=times[1],
        external_id=_integer(_arguments(event).get("External id")),
    )


def _memory_change(event: dict[str, Any]) -> MemoryChange | None:
    args = _arguments(event)
    at, change = _nanoseconds(event.get("ts")), _integer(args.get("Bytes"))
    if at is None or change is None:
        return None
    # 0 is c10::DeviceType::CPU.
    return MemoryChange(at_ns=at, change_bytes=change, on_cpu=_integer(args.get("Device Type")) == 0)


def _arguments(event: dict[str, Any]) -> dict[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _thread(event: dict[str, Any]) -> str:
    return f"{event.get('pid')}:{event.get('tid')}"


def _times(event: dict[str, Any]) -> tuple[int, int] | None:
    """Start and duration in nanoseconds; None where the event has no believable ones."""
    start, duration = _nanoseconds(event.get("ts")), _nanoseconds(event.get("dur"))
    if start is None or duration is None or duration < 0 or (start == 0 and duration == 0):
        return None
    return start, duration


def _nanoseconds(value: Any) -> int | None:
    """Whole nanoseconds of a time in microseconds.

    Read from the decimal digits: a trace counts from a base months ago, and at 10**12 microseconds a float64 has steps
    of a tenth of a nanosecond to two nanoseconds.
    """
    number = _number(value)
    return None if number is None else int((number * 1000).to_integral_value())


def _integer(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == number.to_integral_value() else None


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, str, Decimal)):
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    return number if number.is_finite() and number.adjusted() <= _MAX_EXPONENT else None


def _triple(value: Any) -> tuple[int, int, int] | None:
    if not isinstance(value, list) or len(value) != 3:
        return None
    x, y, z = (_integer(item) for item in value)
    return None if x is None or y is None or z is None else (x, y, z)
