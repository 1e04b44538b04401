"""Time a call by the slope between two CUDA graphs, of N and of 2N calls: no launch cost of the host is inside."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Final

import torch

from kprof.collectors.synchronise import synchronise
from kprof.collectors.timing.device_queue import DeviceQueue, EventPair
from kprof.collectors.timing.device_timers import DeviceTimers
from kprof.collectors.timing.sampling import Sampled, take_samples
from kprof.collectors.timing.timers import Timers
from kprof.errors import first_line
from kprof.evidence import Reason, Series, Side

_BURST_US: Final = 1000.0
# Bursts of this length with the spins and waits round them stay far under any power limit: no rest for them.
_LIGHT_BUSY_US: Final = 600.0
_MAX_CALLS: Final = 100
# Launching a graph costs the host tens of microseconds, more after a rest.
_FIRST_SPIN_US: Final = 60.0
_SPIN_TRIES: Final = 6
# What torch warns of at the end of a capture that holds nothing.
_EMPTY_GRAPH: Final = "graph is empty"


def graph_series(device: DeviceTimers) -> tuple[tuple[Series, Sampled] | None, dict[Side, Reason]]:
    """Graph slopes of the sides that can be captured, and why the others cannot."""
    pairs: dict[Side, _GraphPair] = {}
    refused: dict[Side, Reason] = {}
    for side in device.timers.sides:
        calls = max(2, min(_MAX_CALLS, int(_BURST_US / device.device_us[side])))
        try:
            short, long = (_capture(device.timers, side, n) for n in (calls, 2 * calls))
        except _GraphError as error:
            refused[side] = error.reason
        else:
            pairs[side] = _GraphPair(short, long, calls)
            pairs[side].settle(device.queue)
    if not pairs:
        return None, refused
    calls = max(pair.calls for pair in pairs.values())
    sampled = take_samples(
        lambda side: pairs[side].sample(device.queue),
        tuple(pairs),
        device.timers.policy,
        timer="graph",
        cache="warm",
        read_clock=device.timers.read_clock,
        busy_us=lambda us: 3 * us * calls - _LIGHT_BUSY_US,
    )
    return (sampled.series("graph", "warm", calls_per_sample=calls), sampled), refused


class _GraphError(Exception):
    """A call could not be captured, or its capture holds nothing."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.message)
        self.reason = reason


@dataclass
class _GraphPair:
    """Graphs of ``calls`` and of twice as many calls: the slope between them is one call without the replay's cost."""

    short: torch.cuda.CUDAGraph
    long: torch.cuda.CUDAGraph
    calls: int
    spin_us: float = _FIRST_SPIN_US

    def sample(self, queue: DeviceQueue) -> float:
        """Microseconds a call, from one replay of each graph."""
        return (self._replay(queue, self.long)[0] - self._replay(queue, self.short)[0]) / self.calls

    def settle(self, queue: DeviceQueue) -> None:
        """Lengthen the spin until both replays are enqueued before the device reaches them; this warms them up too."""
        for _ in range(_SPIN_TRIES):
            replays = [self._replay(queue, graph) for graph in (self.short, self.long) for _ in range(3)]
            if all(full for _, full in replays):
                break
            self.spin_us *= 2
        self.spin_us *= 1.5

    def _replay(self, queue: DeviceQueue, graph: torch.cuda.CUDAGraph) -> tuple[float, bool]:
        """Microseconds of one replay behind a full queue, and whether the queue stayed full."""
        pair = EventPair()
        queue.spin(self.spin_us)
        pair.start()
        graph.replay()
        pair.end()
        full = not pair.started()
        return pair.wait_us(), full


def _new_graph() -> torch.cuda.CUDAGraph:
    graph: Any = torch.cuda.CUDAGraph
    return graph()  # type: ignore[no-any-return]


def _capture(timers: Timers, side: Side, calls: int) -> torch.cuda.CUDAGraph:
    """A graph of ``calls`` calls of one side.

    Raises:
        _GraphError: the capture failed, or holds nothing because the side does not launch on torch's current stream.
    """
    timers.call(side)
    synchronise(timers.device)
    graph = _new_graph()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with torch.cuda.graph(graph):
                for _ in range(calls):
                    timers.call(side)
        except RuntimeError as error:  # torch raises it for whatever CUDA refuses inside a capture
            synchronise(timers.device)
            raise _GraphError(
                Reason(
                    code="graph_capture_failed",
                    message=f"the call cannot be captured in a CUDA graph: {first_line(error)}",
                    hint="Calls that synchronise or allocate with cudaMalloc cannot be captured.",
                )
            ) from error
    if any(_EMPTY_GRAPH in str(warning.message).lower() for warning in caught):
        raise _GraphError(
            Reason(
                code="off_current_stream",
                message="the captured graph is empty: the call launches nothing on torch's current stream",
                hint="Launch on at::cuda::getCurrentCUDAStream().",
            )
        )
    synchronise(timers.device)
    return graph
