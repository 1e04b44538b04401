"""Times kernel and reference with every timer that serves, each named for what it is.

A tiny kernel takes 1.2 us on the device and 28 us to a host that waits for it. No timer here is called by another's
name, and which one is the headline is for analysis to say. Device spans (CUPTI) are taken in a process of their own, by
the launches collector, since a profiler slows what the other timers measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import torch

from kprof.collectors.clocks import ClockMonitor
from kprof.collectors.environment import board_uuid
from kprof.collectors.timing.device_timers import DeviceTimers
from kprof.collectors.timing.graph_slope import graph_series
from kprof.collectors.timing.sampling import Sampled, SamplingPolicy, take_samples
from kprof.collectors.timing.timers import Timers, host_resolution_us, host_sample, warm_up
from kprof.collectors.timing.witness import Witness
from kprof.evidence import Cache, Reason, Series, Side, TimingEvidence
from kprof.trees import clone_tree
from kprof.workload import LoadedWorkload

_CACHES: tuple[Cache, ...] = ("cold", "warm")


def collect_timing(
    workload: LoadedWorkload,
    *,
    seed: int,
    enter: Callable[[Side], None],
    policy: SamplingPolicy | None = None,
    headline_only: bool = False,
    witness: Witness | None = None,
) -> Iterator[TimingEvidence]:
    """Time both sides on the same inputs, each on clones of its own.

    Args:
        workload: both sides, loaded.
        seed: seed of the inputs.
        enter: told whose code runs next.
        policy: how long each series is sampled.
        headline_only: only the timers that can be the headline.
        witness: looks at samples of its own in the series that it can.

    Yields:
        The evidence so far, after each series, so that a later fault loses nothing.
    """
    inputs = workload.inputs(seed)
    models: dict[Side, Callable[..., Any]] = {"kernel": workload.kernel}
    if workload.ref is not None:
        models["ref"] = workload.ref
    arguments = {side: clone_tree(inputs) for side in models}
    calls: dict[Side, Callable[[], Any]] = {side: partial(model, *arguments[side]) for side, model in models.items()}
    timers = Timers(workload.device, calls, enter, policy or SamplingPolicy(), witness=witness or Witness())
    with torch.no_grad():
        call_s = _warm_up(timers)
        timers.witness.attend(calls, inputs, arguments["kernel"], call_s)
        del inputs, arguments
        if workload.device.type == "cuda":
            yield from _time_on_cuda(timers, headline_only)
        else:
            yield from _time_on_cpu(timers)


def _warm_up(timers: Timers) -> dict[Side, float]:
    if timers.device.type == "cuda":
        timers.read_clock = ClockMonitor(board_uuid(timers.device)).read
    return warm_up(timers)


def _time_on_cpu(timers: Timers) -> Iterator[TimingEvidence]:
    policy = replace(timers.policy, budget_s=4 * timers.policy.budget_s, floor_samples=10)
    sampled = take_samples(
        lambda side: host_sample(timers, side),
        timers.sides,
        policy,
        timer="host",
        cache="warm",
        witness=timers.witness,
    )
    no_device = Reason(code="no_device", message="the CPU has no device queue, events or graphs")
    yield TimingEvidence(
        series=(sampled.series("host", "warm", resolution_us=host_resolution_us()),),
        absent={
            **dict.fromkeys(("event", "graph", "cupti", "host_stream"), no_device),
            "host.cold": Reason(code="not_measured", message="on the CPU calls are timed with warm caches only"),
        },
    )


def _time_on_cuda(timers: Timers, headline_only: bool) -> Iterator[TimingEvidence]:
    device = DeviceTimers(timers)
    evidence = TimingEvidence(flush_bytes=device.queue.flush_bytes)
    for cache in _CACHES:
        evidence = _add(evidence, *device.event_series(cache))
        yield evidence
    if not headline_only:
        for cache in _CACHES:
            evidence = _add(evidence, *device.host_series(cache))
            yield evidence
        evidence = _add(evidence, *device.stream_series())
        yield evidence
    yield _add_graphs(evidence, device)


def _add(evidence: TimingEvidence, series: Series, sampled: Sampled) -> TimingEvidence:
    return msgspec.structs.replace(
        evidence, series=(*evidence.series, series), clock_groups=(*evidence.clock_groups, *sampled.groups)
    )


def _add_graphs(evidence: TimingEvidence, device: DeviceTimers) -> TimingEvidence:
    measured, refused = graph_series(device)
    if measured is not None:
        evidence = _add(evidence, *measured)
    kernel_refused = refused.get("kernel")
    off_stream = False if kernel_refused is None else True if kernel_refused.code == "off_current_stream" else None
    absent = {f"graph.{side}": reason for side, reason in refused.items()}
    return msgspec.structs.replace(evidence, absent={**evidence.absent, **absent}, kernel_off_current_stream=off_stream)
