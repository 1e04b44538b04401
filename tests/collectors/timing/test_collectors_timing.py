"""Timing on the CPU: one honest timer, and reasons for those that do not exist there."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch

from kprof.collectors.timing.collect import collect_timing
from kprof.collectors.timing.sampling import SamplingPolicy
from kprof.collectors.timing.timers import Timers, host_resolution_us, warm_up
from kprof.evidence import Side, TimingEvidence
from kprof.workload import LoadedWorkload

CPU = torch.device("cpu")
QUICK = SamplingPolicy(budget_s=0.05)


def workload(kernel: Any, ref: Any | None) -> LoadedWorkload:
    return LoadedWorkload(CPU, kernel, ref, lambda: [torch.ones(4)], "ref")


def timed(kernel: Any, ref: Any | None, policy: SamplingPolicy = QUICK) -> tuple[TimingEvidence, list[Side]]:
    entered: list[Side] = []
    (evidence,) = collect_timing(workload(kernel, ref), seed=0, enter=entered.append, policy=policy)
    return evidence, entered


def test_a_known_time_is_read_back() -> None:
    evidence, _ = timed(lambda x: time.sleep(0.002), lambda x: time.sleep(0.004))
    (series,) = evidence.series
    assert (series.timer, series.cache) == ("host", "warm")
    kernel, ref = sorted(series.kernel_us), sorted(series.ref_us)
    assert 2000 <= kernel[len(kernel) // 2] < 3500
    assert 4000 <= ref[len(ref) // 2] < 6000
    assert (series.kernel_count, series.ref_count) == (len(kernel), len(ref))


def test_a_kernel_that_replaces_the_clocks_is_timed_by_the_real_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    sleep = time.sleep
    for name, fake in (("perf_counter_ns", lambda: 0), ("perf_counter", lambda: 0.0), ("sleep", lambda seconds: None)):
        monkeypatch.setattr(time, name, fake)
    evidence, _ = timed(lambda x: sleep(0.002), None)
    kernel = sorted(evidence.series[0].kernel_us)
    assert 2000 <= kernel[len(kernel) // 2] < 3500


def test_what_a_cpu_has_not_is_absent_with_its_reason() -> None:
    evidence, _ = timed(lambda x: x, lambda x: x)
    assert {name: reason.code for name, reason in evidence.absent.items()} == {
        "event": "no_device",
        "graph": "no_device",
        "cupti": "no_device",
        "host_stream": "no_device",
        "host.cold": "not_measured",
    }
    assert evidence.flush_bytes is None


def test_without_a_reference_the_kernel_alone_is_timed() -> None:
    evidence, entered = timed(lambda x: x, None)
    (series,) = evidence.series
    assert series.ref_us == ()
    assert len(series.kernel_us) >= 10
    assert set(entered) == {"kernel"}


def test_each_side_has_inputs_of_its_own() -> None:
    def spoil(x: torch.Tensor) -> None:
        x.add_(1)

    seen = []
    timed(spoil, lambda x: seen.append(x.clone()))
    assert all(torch.equal(x, torch.ones(4)) for x in seen)


def test_gradients_are_off() -> None:
    states = set()
    timed(lambda x: states.add(torch.is_grad_enabled()), None)
    assert states == {False}


def test_warm_up_lasts_and_calls_each_side() -> None:
    calls: dict[str, int] = {"kernel": 0, "ref": 0}

    def count(side: str) -> Any:
        def call() -> None:
            calls[side] += 1

        return call

    timers = Timers(CPU, {"kernel": count("kernel"), "ref": count("ref")}, lambda side: None, QUICK)
    began = time.perf_counter()
    warm_up(timers, seconds=0.05)
    assert time.perf_counter() - began >= 0.1
    assert min(calls.values()) > 100
    calls.update(kernel=0, ref=0)
    warm_up(timers, seconds=0)
    assert calls == {"kernel": 3, "ref": 3}


def test_an_error_in_a_call_is_passed_on() -> None:
    def broken(x: torch.Tensor) -> None:
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        timed(broken, None)


def test_the_hosts_clock_steps_in_well_under_a_microsecond() -> None:
    assert 0 < host_resolution_us() < 5
