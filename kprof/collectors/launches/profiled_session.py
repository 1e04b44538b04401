"""The calls of one profiled session: what is run between the profiler's start and its end, and in which order."""

from __future__ import annotations

import contextlib
import gc
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex  # By name: user code may replace the module's functions.
from time import perf_counter, sleep  # By name: user code may replace the module's functions.
from typing import Any, Final, Protocol

import torch
from torch.autograd.profiler import profile
from torch.profiler import record_function

from kprof.collectors.launches.trace import MAX_TRACE_BYTES, TraceEvents, read_trace, trace_too_large
from kprof.collectors.launches.window_evidence import CACHES, Kind, Recording, window_name
from kprof.collectors.synchronise import synchronise
from kprof.collectors.timing.device_queue import DeviceQueue
from kprof.collectors.timing.sampling import SamplingPolicy
from kprof.errors import CannotMeasureError, first_line
from kprof.evidence import Cache, Reason, Side

HEAD_CALLS: Final = 3
"""Annotated calls at the head of the session that are thrown away: events are lost there, if anywhere (kineto#996)."""
PLAIN_CALLS: Final = 3
FIRST_SPIN_US: Final = 100.0
SPIN_TRIES: Final = 8
"""Doublings of the spin, up to 13 ms: a call that takes longer to enqueue, or waits for the device, is not covered."""
MAX_DEVICE_ROWS: Final = 60_000
"""Device rows that a session may bring: about 50 MB of trace with the host rows that go with them."""
HOST_US_PER_LAUNCH: Final = 3.0
"""Least host time of a launch under the profiler; with it the time to enqueue a call bounds its number of launches."""
DEVICE_US_PER_NODE: Final = 0.7
"""Least device time between nodes of a graph, whose number host time does not bound."""
_OWN_ROWS: Final = 4
"""Device rows of kprof's own for a cold and a warm sample: two spins, a flush in up to two kernels."""


class Turn(Protocol):
    """What a sample asks of the device."""

    def spin(self, us: float) -> None: ...
    def flush(self) -> None: ...
    def mark(self) -> None:
        """Put a mark in the queue, behind what is in it."""

    def passed(self) -> bool:
        """The device has come to the mark."""

    def synchronize(self) -> None: ...


class CudaTurn:
    """`Turn` on the current stream of a CUDA device."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._queue = DeviceQueue(device)
        self._event = torch.cuda.Event()  # type: ignore[no-untyped-call]

    def spin(self, us: float) -> None:
        self._queue.spin(us)

    def flush(self) -> None:
        self._queue.flush()

    def mark(self) -> None:
        self._event.record()

    def passed(self) -> bool:
        return bool(self._event.query())  # type: ignore[no-untyped-call]

    def synchronize(self) -> None:
        synchronise(self._device)


@dataclass
class Subject:
    """One side in the session."""

    side: Side
    run: Callable[[], Any]
    call_us: float = 0.0
    """Shortest wall time seen of one call with a synchronise."""
    enqueue_us: float = math.inf
    """Shortest time seen to enqueue one call under the profiler: each one bounds the number of its launches."""
    runs_a_profiler: bool = False
    restore: Callable[[], None] = lambda: None
    """Puts back what calls change: state and random numbers."""
    output: Any = None
    """Of a call in the session."""
    spin_us: dict[Cache, float] = field(default_factory=dict)


class Session:
    """The calls of one profiled session, each in an annotated window."""

    def __init__(self, subjects: list[Subject], enter: Callable[[Side], None], turn: Turn | None) -> None:
        self._subjects, self._enter, self._turn = subjects, enter, turn
        # Not to be guessed by user code, which may annotate too.
        self._prefix = f"kprof.window.{token_hex(4)}:"
        self._late: set[str] = set()
        self.warnings: list[Reason] = []

    def recording(self) -> Recording:
        """What the trace does not say about the session."""
        sides = tuple(subject.side for subject in self._subjects)
        return Recording(self._prefix, sides, self._turn is not None, frozenset(self._late))

    def run(self, spans: int, budget_s: float) -> None:
        """Throw-away calls, plain calls, and on a device the samples of spans."""
        calls: tuple[Kind, ...] = ("head",) * HEAD_CALLS + ("plain",) * PLAIN_CALLS
        for index, kind in enumerate(calls):
            for subject in self._subjects:
                self._plain(subject, kind, index)
        if self._turn is not None and spans > 0 and self._subjects:
            self._sample_spans(self._turn, spans, budget_s)
        for subject in self._subjects:
            subject.restore()
            subject.output = self._plain(subject, "head", HEAD_CALLS)

    def _plain(self, subject: Subject, kind: Kind, index: int) -> Any:
        """One call on an empty queue, to its end on the device, and its result."""
        self._enter(subject.side)
        with record_function(self._prefix + window_name(subject.side, kind, index)):
            output = subject.run()
            if self._turn is not None:
                self._turn.synchronize()
        return output

    def _sample_spans(self, turn: Turn, spans: int, budget_s: float) -> None:
        # A turn is two cold samples of each side and two warm ones, of two calls each.
        turn_s = sum(6 * subject.call_us for subject in self._subjects) / 1e6
        if turn_s > 4 * budget_s:
            self.warnings.append(
                Reason(
                    code="spans_not_sampled",
                    message=f"one turn of device spans would take {turn_s:.1f} s; the budget is {budget_s:g} s",
                    hint="For calls this long, device time from events differs from the span by no more than noise.",
                )
            )
            return
        began = perf_counter()
        for subject in self._subjects:
            for cache in CACHES:
                self._settle_spin(turn, subject, cache)
        for index in range(0, self._affordable(spans), 2):
            for cache in CACHES:
                for half, order in enumerate((self._subjects, self._subjects[::-1])):
                    for subject in order:
                        self._sample(turn, subject, cache, cache, index + half)
            if perf_counter() - began >= budget_s:
                return

    def _settle_spin(self, turn: Turn, subject: Subject, cache: Cache) -> None:
        """Find a spin long enough for one call to be enqueued behind it, with as much again to spare."""
        for attempt in range(SPIN_TRIES):
            subject.spin_us[cache] = FIRST_SPIN_US * 2**attempt
            if self._sample(turn, subject, cache, "head", attempt):
                subject.spin_us[cache] *= 2
                return
        subject.spin_us[cache] = FIRST_SPIN_US

    def _sample(self, turn: Turn, subject: Subject, cache: Cache, kind: Kind, index: int) -> bool:
        """One call behind a full queue. Tells whether it was enqueued before the device came to it."""
        name = self._prefix + window_name(subject.side, kind, index)
        self._enter(subject.side)
        sample_began = perf_counter()
        turn.spin(subject.spin_us[cache])
        if cache == "cold":
            turn.flush()
        else:
            subject.run()
        turn.mark()
        call_began = perf_counter()
        with record_function(name):
            output = subject.run()
        in_time = not turn.passed()
        subject.enqueue_us = min(subject.enqueue_us, (perf_counter() - call_began) * 1e6)
        turn.synchronize()
        del output
        if not in_time:
            self._late.add(name)
        busy_s = subject.call_us * (1 if cache == "cold" else 2) / 1e6
        _rest(busy_s, perf_counter() - sample_began)
        return in_time

    def _affordable(self, spans: int) -> int:
        """Spans, an even number, for which the trace stays small."""
        graphs = any(issubclass(type(item), torch.cuda.CUDAGraph) for item in gc.get_objects())
        rows = 0.0
        for subject in self._subjects:
            nodes = subject.call_us / DEVICE_US_PER_NODE if graphs else 0.0
            # A cold sample makes one call, a warm one two.
            rows += 3 * max(1.0, subject.enqueue_us / HOST_US_PER_LAUNCH, nodes) + _OWN_ROWS
        return max(2, min(spans, int(MAX_DEVICE_ROWS / rows)) // 2 * 2)


def _rest(busy_s: float, elapsed_s: float) -> None:
    """Sleep until the device was busy for its share of the time only. Short rests are not worth their jitter."""
    missing_s = busy_s / SamplingPolicy.duty - elapsed_s
    if missing_s > 1e-4:
        sleep(min(missing_s, 0.5))


def new_profiler(*, on_cuda: bool, memory: bool = False) -> profile:
    """A profiler of operators, and of the device's work where there is one.

    It is torch.profiler's own engine without its schedule: entering torch.profiler.profile imports torch's compiler,
    which takes a second from bytecode and four without.
    """
    return profile(use_kineto=True, use_device="cuda" if on_cuda else None, profile_memory=memory)


def read_profile(profiler: profile) -> TraceEvents:
    """What a profiler recorded, by way of a private file that is gone afterwards.

    Raises:
        CannotMeasureError: the trace cannot be written or read, or is too large.
    """
    with tempfile.TemporaryDirectory(prefix="kprof-trace-") as folder:
        path = Path(folder) / "trace.json"
        try:
            profiler.export_chrome_trace(str(path))  # type: ignore[no-untyped-call]
            size = path.stat().st_size
        except (AssertionError, AttributeError, OSError, RuntimeError) as error:
            raise CannotMeasureError(
                "trace_not_written",
                f"torch.profiler wrote no trace: {type(error).__name__}: {first_line(error)}",
                "Look for code that starts or stops a profiler itself.",
            ) from error
        if size > MAX_TRACE_BYTES:
            raise trace_too_large(size)
        return read_trace(path.read_bytes())


RUNS_A_PROFILER: Final = Reason(
    code="runs_a_profiler",
    message="the call starts a torch profiler of its own, which ends any other",
    hint="Take the profiler out of the file.",
)


@contextlib.contextmanager
def profilers_noted() -> Iterator[list[None]]:
    """Gets an entry for each torch profiler that is started meanwhile.

    Through the function that torch calls for this purpose when a profiler starts; a torch without it notes nothing.
    """
    started: list[None] = []
    module, name = torch.autograd.profiler, "_run_on_profiler_start"
    original = getattr(module, name, None)
    if original is None:
        yield started
        return

    def noted() -> None:
        started.append(None)
        original()

    setattr(module, name, noted)
    try:
        yield started
    finally:
        setattr(module, name, original)


def require_running() -> None:
    """To be called before a profiler is left: make sure that it is still this one that runs.

    A second profiler that starts and stops inside ends the first, and torch 2.13 then crashes in its export.

    Raises:
        CannotMeasureError: `RUNS_A_PROFILER`.
    """
    if not torch.autograd._profiler_enabled():  # type: ignore[attr-defined]
        raise CannotMeasureError(RUNS_A_PROFILER.code, RUNS_A_PROFILER.message, RUNS_A_PROFILER.hint)
