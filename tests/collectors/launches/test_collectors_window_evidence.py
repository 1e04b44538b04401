"""The evidence of a session from the trace that it leaves: launches of a call and spans of many."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from kprof.collectors.launches.trace import read_trace
from kprof.collectors.launches.window_evidence import Recording, evidence_from_trace, resolution_us, window_name
from kprof.evidence import Side
from kprof.launches_evidence import LaunchesEvidence

PREFIX = "kprof.window.test:"


class Device:
    """Writes the trace that a session on a device would leave; times in microseconds."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.now = 1000.0
        self.ids = count(1)

    def call(
        self, name: str, *works: tuple[str, float], cat: str = "kernel", behind: float = 0.0, lost: bool = False
    ) -> None:
        """A window of 100 us in which each work is launched; the device starts ``behind`` us after the last launch."""
        self.add("user_annotation", PREFIX + name, self.now, 100.0)
        launches = [(next(self.ids), self.now + 10 * (index + 1)) for index in range(len(works))]
        at = launches[-1][1] + 2.0 + behind if launches else 0.0
        for (correlation, began), (work, duration) in zip(launches, works, strict=True):
            self.add("cuda_runtime", "cudaLaunchKernel", began, 2.0, correlation=correlation)
            if not lost:
                self.add(cat, work, at, duration, correlation=correlation, stream=7, grid=[2, 1, 1], block=[256, 1, 1])
            at += duration + 1.0
        self.now += 1000.0

    def add(self, cat: str, name: str, ts: float, dur: float, **args: Any) -> None:
        self.events.append(
            {
                "ph": "X",
                "cat": cat,
                "name": name,
                "pid": 1,
                "tid": 1,
                "ts": round(ts, 3),
                "dur": round(dur, 3),
                "args": args,
            }
        )

    def evidence(self, *late: str, sides: tuple[Side, ...] = ("kernel",)) -> LaunchesEvidence:
        recording = Recording(PREFIX, sides, True, frozenset(PREFIX + name for name in late))
        return evidence_from_trace(read_trace(json.dumps({"traceEvents": self.events}).encode()), recording)


def plain_calls(device: Device, *works: tuple[str, float], side: Side = "kernel") -> None:
    for index in range(3):
        device.call(window_name(side, "plain", index), *works)


class TestLaunchesFromATrace:
    def test_a_call_s_launches_with_times_since_its_start(self) -> None:
        device = Device()
        plain_calls(device, ("a", 10.0), ("b", 5.0))
        evidence = device.evidence()
        assert evidence.kernel is not None
        first, second = evidence.kernel.launches
        assert (first.name, first.kind, first.start_us, first.duration_us) == ("a", "kernel", 22.0, 10.0)
        assert (second.start_us, second.grid, second.block, second.stream) == (33.0, (2, 1, 1), (256, 1, 1), 7)
        assert (evidence.kernel.host_launches, evidence.kernel.host_us) == (2, 100.0)
        assert (evidence.kernel.absent, evidence.kernel.warnings, evidence.series) == (None, (), ())

    def test_the_call_of_middle_length_is_the_one_shown(self) -> None:
        device = Device()
        for index, length in enumerate((400.0, 100.0, 200.0)):
            device.call(window_name("kernel", "plain", index), ("a", 1.0))
            device.events[-3]["dur"] = length
        evidence = device.evidence()
        assert evidence.kernel is not None
        assert evidence.kernel.host_us == 200.0

    def test_a_replayed_graph_is_one_launch_and_its_kernels(self) -> None:
        device = Device()
        for index in range(3):
            device.call(window_name("kernel", "plain", index), ("a", 10.0))
            device.events[-2]["name"] = "cudaGraphLaunch"
            device.add("kernel", "b", device.now - 900, 3.0, correlation=device.events[-1]["args"]["correlation"])
        evidence = device.evidence()
        assert evidence.kernel is not None
        assert [(launch.name, launch.graph) for launch in evidence.kernel.launches] == [("a", True), ("b", True)]
        assert evidence.kernel.host_launches == 1

    def test_no_device_event_at_all_and_none_in_the_window_differ(self) -> None:
        """Case 22."""
        device = Device()
        plain_calls(device)
        empty = device.evidence().kernel
        device.add("kernel", "spin", 5.0, 1.0, correlation=900)
        unmatched = device.evidence().kernel
        assert empty is not None
        assert unmatched is not None
        assert empty.absent is not None
        assert unmatched.absent is not None
        assert (empty.absent.code, unmatched.absent.code) == ("cupti_no_events", "no_launches_in_window")
        assert "LD_LIBRARY_PATH" in empty.absent.hint
        assert (empty.host_launches, unmatched.host_launches, unmatched.host_us) == (None, 0, 100.0)

    def test_launches_whose_rows_are_gone_are_incomplete_not_none(self) -> None:
        device = Device()
        for index in range(3):
            device.call(window_name("kernel", "plain", index), ("a", 1.0), lost=True)
        device.add("kernel", "spin", 5.0, 1.0, correlation=900)
        kernel = device.evidence().kernel
        assert kernel is not None
        assert kernel.absent is not None
        assert kernel.absent.code == "incomplete_trace"

    def test_calls_that_differ_are_said_and_the_middle_one_is_shown(self) -> None:
        device = Device()
        for index, names in enumerate(("ab", "a", "ab")):
            device.call(window_name("kernel", "plain", index), *((name, 1.0) for name in names))
        kernel = device.evidence().kernel
        assert kernel is not None
        assert [warning.code for warning in kernel.warnings] == ["launch_count_varies"]
        assert "2, 1, 2" in kernel.warnings[0].message

    def test_a_lost_window_is_incomplete(self) -> None:
        kernel = Device().evidence().kernel
        assert kernel is not None
        assert kernel.absent is not None
        assert kernel.absent.code == "incomplete_trace"

    def test_a_broken_trace_is_said(self) -> None:
        device = Device()
        plain_calls(device, ("a", 1.0))
        device.add("kernel", "a", 0.0, 0.0)
        assert [warning.code for warning in device.evidence().warnings] == ["incomplete_trace"]


class TestSpansFromATrace:
    def sampled(self, spans: dict[Side, list[float]], **options: Any) -> Device:
        device = Device()
        for side, durations in spans.items():
            plain_calls(device, ("a", 1.0), ("b", 1.0), side=side)
            for index, duration in enumerate(durations):
                device.call(window_name(side, "cold", index), ("a", 1.0), ("b", duration - 2.0), **options)
        return device

    def test_spans_run_from_the_first_start_to_the_last_end(self) -> None:
        device = self.sampled({"kernel": [10.0, 10.032, 10.064], "ref": [20.0, 21.0]})
        evidence = device.evidence(sides=("kernel", "ref"))
        (cold,) = evidence.series
        assert (cold.timer, cold.cache) == ("cupti", "cold")
        assert cold.kernel_us == (10.0, 10.032, 10.064)
        assert cold.ref_us == (20.0, 21.0)
        assert (cold.kernel_count, cold.ref_count, cold.queue_kept_full, cold.bias_us) == (3, 2, True, None)
        assert evidence.kernel is not None
        assert evidence.kernel.warnings == ()

    def test_late_samples_are_left_out_unless_most_are_late(self) -> None:
        device = self.sampled({"kernel": [10.0, 30.0, 11.0]})
        (one_late,) = device.evidence("kernel:cold:1").series
        assert (one_late.kernel_us, one_late.kernel_count) == ((10.0, 11.0), 2)
        (most_late,) = device.evidence("kernel:cold:1", "kernel:cold:2").series
        assert most_late.kernel_us == (10.0, 30.0, 11.0)

    def test_a_device_that_overtook_the_host_shows_in_the_trace(self) -> None:
        (series,) = self.sampled({"kernel": [10.0, 11.0]}, behind=-5.0).evidence().series
        assert series.queue_kept_full is False

    def test_a_sample_that_lost_a_row_is_left_out_and_the_loss_is_said(self) -> None:
        """Case 24: events that are no multiple of the calls."""
        device = self.sampled({"kernel": [10.0, 11.0, 12.0]})
        del device.events[-1]
        evidence = device.evidence()
        assert evidence.series[0].kernel_us == (10.0, 11.0)
        assert evidence.kernel is not None
        (warning,) = evidence.kernel.warnings
        assert warning.code == "incomplete_trace"
        assert warning.message.endswith(": b")

    @pytest.mark.parametrize(
        ("durations", "step"),
        [
            ((1536, 1568, 3648), 0.032),
            ((1535, 1569), 0.032),
            ((1536,), 0.032),
            ((0, 1536), 0.032),
            ((1000, 1500, 2600), 0.5),
            ((1000, 1000), None),
            ((), None),
        ],
    )
    def test_the_step_of_the_device_s_times(self, durations: tuple[int, ...], step: float | None) -> None:
        assert resolution_us(durations) == step
