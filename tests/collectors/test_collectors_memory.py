"""Peaks above the level before the call, on the CPU with the real profiler; the running sum with built records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from kprof.collectors.launches.trace import HostEvent, MemoryChange, TraceEvents
from kprof.collectors.memory import collect_memory, peak_above_start
from kprof.evidence import MemoryEvidence, Side, SideMemory

MB = 2**20


@dataclass
class Files:
    """A stand-in for what loading the two files gives. One input: a tensor of 1 MiB."""

    kernel: Callable[..., Any]
    ref: Callable[..., Any] | None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    inputs_side: Side = "ref"
    seeds: list[int] = field(default_factory=list)

    def inputs(self, seed: int) -> list[Any]:
        self.seeds.append(seed)
        return [torch.zeros(MB // 4)]


def collected(kernel: Callable[..., Any], ref: Callable[..., Any] | None = None) -> list[MemoryEvidence]:
    return list(collect_memory(Files(kernel, ref), seed=1, enter=lambda side: None))  # type: ignore[arg-type]


def peak(call: Callable[..., Any]) -> int | None:
    (evidence,) = collected(call)
    assert evidence.kernel is not None
    return evidence.kernel.peak_bytes


def test_the_output_counts_and_the_input_does_not() -> None:
    """Peak with the baseline inside was 33 MB for tensors of some kB in the report that this replaces."""
    ballast = torch.zeros(16 * MB)
    assert peak(torch.neg) == MB
    assert ballast.numel() == 16 * MB


def test_an_intermediate_counts_while_it_lives() -> None:
    # x + x lives beside its negative; then the sum (one element) is made while only the negative lives.
    assert peak(lambda x: torch.neg(x + x).sum()) == 2 * MB


def test_a_call_in_place_takes_nothing() -> None:
    assert peak(lambda x: x.neg_()) == 0


def test_what_is_kept_from_the_warm_call_counts_for_no_one() -> None:
    kept: list[torch.Tensor] = []

    def with_workspace(x: torch.Tensor) -> torch.Tensor:
        if not kept:
            kept.append(torch.empty(4 * MB))
        return x.neg()

    assert peak(with_workspace) == MB


def test_releasing_what_an_earlier_call_kept_brings_the_level_down() -> None:
    kept: list[torch.Tensor] = []

    def swaps(x: torch.Tensor) -> torch.Tensor:
        kept.clear()
        kept.append(torch.zeros(2 * MB // 4))
        return x.neg()

    # 2 MiB of the warm call are given back first: 2 MiB more are the start's level again, and the output is above it.
    assert peak(swaps) == MB


def test_both_sides_are_measured_alike_and_told_one_by_one() -> None:
    log: list[str] = []

    def call(name: str) -> Callable[..., Any]:
        def run(x: torch.Tensor) -> torch.Tensor:
            log.append(f"{name} {torch.is_grad_enabled()}")
            return x + 1.0 if name == "K" else torch.cat([x, x])

        return run

    files = Files(call("K"), call("R"))
    steps = collect_memory(files, seed=4, enter=log.append)  # type: ignore[arg-type]
    first = next(steps)
    assert first == MemoryEvidence(method="torch_cpu_allocator", kernel=SideMemory(peak_bytes=first_peak(first)))
    assert log == ["ref", "kernel", "K False", "K False"]
    (second,) = steps
    assert second.kernel == first.kernel
    assert second.ref == SideMemory(peak_bytes=2 * MB)
    assert log[4:] == ["ref", "ref", "R False", "R False"]
    assert files.seeds == [4, 4]


def first_peak(evidence: MemoryEvidence) -> int:
    assert evidence.kernel is not None
    assert evidence.kernel.peak_bytes is not None
    # x + 1.0 takes its output and a wrapped number of some bytes.
    assert MB <= evidence.kernel.peak_bytes <= MB + 64
    return evidence.kernel.peak_bytes


def test_without_a_reference_there_is_one_step() -> None:
    (evidence,) = collected(torch.neg)
    assert evidence.ref is None


def test_what_user_code_raises_is_passed_on_after_what_is_known() -> None:
    def fails(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("no")

    steps = collect_memory(Files(torch.neg, fails), seed=1, enter=lambda side: None)  # type: ignore[arg-type]
    assert next(steps).kernel == SideMemory(peak_bytes=MB)
    with pytest.raises(ValueError, match="no"):
        next(steps)


@pytest.mark.parametrize("from_call", [0, 1])
def test_a_call_that_runs_a_profiler_has_no_peak_and_says_why(from_call: int) -> None:
    """It ends ours, and exporting ours then crashes the process."""
    calls = count()

    def profiled(x: torch.Tensor) -> torch.Tensor:
        if next(calls) < from_call:
            return x.neg()
        with profile(activities=[ProfilerActivity.CPU]):
            return x.neg()

    first, second = collected(profiled, torch.neg)
    assert first.kernel is not None
    assert first.kernel.peak_bytes is None
    assert first.kernel.absent is not None
    assert first.kernel.absent.code == "runs_a_profiler"
    assert second.ref == SideMemory(peak_bytes=MB)


def annotated(start: int = 100, end: int = 200) -> HostEvent:
    return HostEvent(name="w", thread="1:1", start_ns=start, duration_ns=end - start)


def change(at: int, size: int, on_cpu: bool = True) -> MemoryChange:
    return MemoryChange(at_ns=at, change_bytes=size, on_cpu=on_cpu)


def test_the_running_sum_is_taken_in_time_order_inside_the_window_on_the_cpu() -> None:
    events = TraceEvents(
        annotations=(annotated(),),
        memory=(
            change(150, -30),
            change(99, 1000),
            change(110, 30),
            change(120, 50),
            change(130, 500, on_cpu=False),
            change(160, 20),
            change(200, 1000),
        ),
    )
    assert peak_above_start(events, "w") == 80


def test_a_level_below_the_start_is_no_peak() -> None:
    assert (
        peak_above_start(TraceEvents(annotations=(annotated(),), memory=(change(110, -30), change(120, 10))), "w") == 0
    )


@pytest.mark.parametrize(
    "events",
    [
        TraceEvents(memory=(change(110, 30),)),
        TraceEvents(annotations=(annotated(),), memory=(change(110, 30),), truncated=True),
        TraceEvents(annotations=(annotated(),), memory=(change(110, 30),), skipped=1),
    ],
)
def test_a_trace_that_does_not_tell_gives_none(events: TraceEvents) -> None:
    assert peak_above_start(events, "w") is None
