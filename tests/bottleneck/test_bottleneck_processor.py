"""The estimated label of a call on the CPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ceilings import cpu_ceilings

from kprof.bottleneck.processor import ProcessorCall, processor_verdict
from kprof.floor import Floor, task_floor
from kprof.floor_evidence import FloorEvidence


def floor(moved: int, **flop: int) -> Floor:
    evidence = FloorEvidence(input_bytes=moved, parameter_bytes=0, output_bytes=0, flop=flop)
    return task_floor(evidence, None, cache="warm", ceilings=cpu_ceilings())


@pytest.mark.parametrize(
    ("of", "kernel_us", "label"),
    [
        (floor(2**30), 30_000.0, "memory/dram"),
        (floor(2**22), 60.0, "memory/cache"),
        (floor(2**22, fp32=10**9), 11_000.0, "compute/fp32"),
        (floor(2**12), 4.0, "launch"),
        # Slow by itself, though the task is small: the call's overhead is no reason.
        (floor(2**12), 400.0, "memory/cache"),
    ],
)
def test_what_would_hold_back_a_kernel_that_does_no_more(of: Floor, kernel_us: float, label: str) -> None:
    found = processor_verdict(ProcessorCall(of, kernel_us, 3.0))
    assert found is not None
    assert found.label == label
    assert found.proofs
    assert found.margin is not None


def test_the_numbers_behind_it_and_what_could_be_gained() -> None:
    found = processor_verdict(ProcessorCall(floor(2**22, fp32=10**6), 300.0, 3.0))
    assert found is not None
    memory, compute, overhead = found.proofs
    assert (memory.value, memory.unit) == (pytest.approx(2**22 / 151.5e9 * 1e6), "us")
    assert compute.value == pytest.approx(1e6 / 101e9 * 1e6)
    assert (overhead.value, overhead.unit, overhead.threshold) == (pytest.approx(1.0), "%", 50.0)
    assert found.steps[0].at_most_x == pytest.approx(300.0 / memory.value)


@pytest.mark.parametrize(("kernel_us", "word"), [(50.0, "Go through memory once"), (60.0, "does not explain it")])
def test_a_time_that_the_task_does_not_explain_gets_no_advice_for_its_label(kernel_us: float, word: str) -> None:
    """The least of 2^22 bytes is 27.7 us."""
    found = processor_verdict(ProcessorCall(floor(2**22), kernel_us, 3.0))
    assert found is not None
    assert word in found.steps[0].text


def test_a_border_that_is_near_is_named() -> None:
    one_percent_less = round(2**22 / 151.5e9 * 101e9 * 0.99)
    found = processor_verdict(ProcessorCall(floor(2**22, fp32=one_percent_less), 300.0, 3.0))
    assert found is not None
    assert (found.label, found.near_border) == ("memory/cache", "compute")
    launch = processor_verdict(ProcessorCall(floor(2**12), 5.99, 3.0))
    assert launch is not None
    assert (launch.label, launch.near_border) == ("launch", "memory/cache")


def test_without_the_overhead_of_a_call_the_task_alone_decides() -> None:
    found = processor_verdict(ProcessorCall(floor(2**12), 4.0, None))
    assert found is not None
    assert found.label == "memory/cache"


def test_without_a_floor_there_is_no_label() -> None:
    assert processor_verdict(ProcessorCall(Floor(), 4.0, 3.0)) is None


def test_a_kernel_at_its_floor_is_told_nothing_to_gain() -> None:
    task = floor(2**22)
    assert task.us is not None
    found = processor_verdict(ProcessorCall(task, task.us * 0.736, 3.0))
    assert found is not None
    assert found.steps == ()


def test_a_floor_that_may_be_too_high_bounds_no_gain() -> None:
    found = processor_verdict(ProcessorCall(replace(floor(2**22), kind="upper_estimate"), 300.0, 3.0))
    assert found is not None
    assert [step.at_most_x for step in found.steps] == [None]
