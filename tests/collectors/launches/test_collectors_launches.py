"""The profiled session: its order with a stand-in device, its evidence from traces, and real runs on the CPU."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function

from kprof.collectors.launches import profiled_session
from kprof.collectors.launches.collect import collect_launches
from kprof.collectors.launches.profiled_session import (
    FIRST_SPIN_US,
    HEAD_CALLS,
    PLAIN_CALLS,
    SPIN_TRIES,
    Session,
    Subject,
)
from kprof.collectors.launches.trace import read_trace
from kprof.collectors.launches.window_evidence import Recording, evidence_from_trace, resolution_us, window_name
from kprof.evidence import Side
from kprof.launches_evidence import LaunchesEvidence

PREFIX = "kprof.window.test:"


@dataclass
class Files:
    """A stand-in for what loading the two files gives."""

    kernel: Callable[..., Any]
    ref: Callable[..., Any] | None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    inputs_side: Side = "ref"
    seeds: list[int] = field(default_factory=list)

    def inputs(self, seed: int) -> list[Any]:
        self.seeds.append(seed)
        return [torch.full((4, 10, 32), float(seed)), 0]


def collected(kernel: Callable[..., Any], ref: Callable[..., Any] | None, **options: Any) -> LaunchesEvidence:
    return collect_launches(Files(kernel, ref), seed=3, enter=lambda side: None, **options)  # type: ignore[arg-type]


def logsumexp(x: torch.Tensor, dim: int) -> torch.Tensor:
    return torch.logsumexp(x, dim)


def unfused(x: torch.Tensor, dim: int) -> torch.Tensor:
    top = x.amax(dim)
    return (x - top).exp().sum(dim).log() + top


class TestOnTheCpu:
    def test_launches_are_absent_and_operator_calls_stand_beside(self) -> None:
        evidence = collected(logsumexp, unfused)
        assert evidence.kernel is not None
        assert evidence.ref is not None
        # amax, sub, exp, sum, log, add; what they call in turn does not count.
        assert (evidence.kernel.operator_calls, evidence.ref.operator_calls) == (1, 6)
        for side in (evidence.kernel, evidence.ref):
            assert side.absent is not None
            assert side.absent.code == "no_device"
            assert (side.launches, side.host_launches) == ((), None)
            assert side.host_us is not None
            assert 1 < side.host_us < 1e6
        assert (evidence.series, evidence.warnings) == ((), ())

    def test_without_a_reference_its_part_is_none(self) -> None:
        evidence = collected(logsumexp, None)
        assert evidence.ref is None
        assert evidence.kernel is not None

    def test_sides_get_equal_inputs_of_their_own_without_gradients(self) -> None:
        seen: dict[str, tuple[int, float, bool]] = {}

        def note(side: str) -> Callable[..., Any]:
            def call(x: torch.Tensor, dim: int) -> torch.Tensor:
                seen[side] = (x.data_ptr(), float(x[0, 0, 0]), torch.is_grad_enabled())
                return x + dim

            return call

        collected(note("kernel"), note("ref"))
        assert seen["kernel"][1:] == seen["ref"][1:] == (3.0, False)
        assert seen["kernel"][0] != seen["ref"][0]

    def test_a_kernel_that_writes_to_its_input_leaves_the_reference_s_alone(self) -> None:
        seen: set[float] = set()

        def reads(x: torch.Tensor, dim: int) -> torch.Tensor:
            seen.add(float(x[0, 0, 0]))
            return x

        collected(lambda x, dim: x.zero_(), reads)
        assert 3.0 in seen
        assert 0.0 not in seen

    def test_enter_names_the_side_before_its_code_runs(self) -> None:
        log: list[str] = []
        files = Files(lambda *_: log.append("K"), lambda *_: log.append("R"))
        collect_launches(files, seed=5, enter=lambda side: log.append(side))  # type: ignore[arg-type]
        assert log[:3] == ["ref", "kernel", "K"]
        for before, after in pairwise(log):
            if after in "KR":
                assert before in {"K": ("kernel", "K"), "R": ("ref", "R")}[after]
        assert files.seeds[0] == 5

    def test_what_user_code_raises_is_passed_on_and_the_profiler_is_stopped(self) -> None:
        calls = count()

        def fails_late(x: torch.Tensor, dim: int) -> torch.Tensor:
            if torch.autograd._profiler_enabled() and next(calls) == 2:  # type: ignore[attr-defined]
                raise ValueError("out of luck")
            return x

        with pytest.raises(ValueError, match="out of luck"):
            collected(fails_late, logsumexp)
        assert not torch.autograd._profiler_enabled()  # type: ignore[attr-defined]

    def test_a_call_that_runs_a_profiler_is_left_out_with_a_warning(self) -> None:
        """Case 23."""

        def profiled(x: torch.Tensor, dim: int) -> torch.Tensor:
            with profile(activities=[ProfilerActivity.CPU]):
                return x.logsumexp(dim)

        evidence = collected(profiled, unfused)
        assert evidence.kernel is not None
        assert evidence.kernel.absent is not None
        assert evidence.kernel.absent.code == "runs_a_profiler"
        assert [warning.code for warning in evidence.kernel.warnings] == ["runs_a_profiler"]
        assert evidence.ref is not None
        assert evidence.ref.operator_calls == 6

    def test_a_call_that_comes_to_run_a_profiler_later_ends_ours_and_is_said(self) -> None:
        def turns_to_it(x: torch.Tensor, dim: int) -> torch.Tensor:
            if torch.autograd._profiler_enabled():  # type: ignore[attr-defined]
                with profile(activities=[ProfilerActivity.CPU]):
                    return x.logsumexp(dim)
            return x.logsumexp(dim)

        evidence = collected(turns_to_it, unfused)
        for side in (evidence.kernel, evidence.ref):
            assert side is not None
            assert side.absent is not None
            assert side.absent.code == "runs_a_profiler"

    def test_a_profiler_that_runs_already_is_said(self) -> None:
        with profile(activities=[ProfilerActivity.CPU]):
            evidence = collected(logsumexp, unfused)
        assert evidence.kernel is not None
        assert evidence.kernel.absent is not None
        assert evidence.kernel.absent.code == "profiler_already_running"

    def test_a_trace_over_the_cap_is_a_reason(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(profiled_session, "MAX_TRACE_BYTES", 10)
        evidence = collected(logsumexp, unfused)
        assert evidence.ref is not None
        assert evidence.ref.absent is not None
        assert evidence.ref.absent.code == "trace_too_large"

    def test_no_file_is_left(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        collected(logsumexp, unfused)
        assert list(tmp_path.iterdir()) == []


@dataclass
class StandIn:
    """A device that only writes down what is asked of it."""

    log: list[str]
    enough_us: float = 0.0
    """Spins at least this long keep it busy until a call is enqueued."""
    spun_us: float = 0.0

    def spin(self, us: float) -> None:
        self.spun_us = us
        self.log.append("spin")

    def flush(self) -> None:
        self.log.append("flush")

    def mark(self) -> None:
        self.log.append("mark")

    def passed(self) -> bool:
        return self.spun_us < self.enough_us

    def synchronize(self) -> None:
        self.log.append("sync")


def session_log(
    spans: int, enough_us: float = 0.0, call_us: float = 1.0, budget_s: float = 9.0
) -> tuple[list[str], Session]:
    log: list[str] = []
    subjects = [
        Subject("kernel", lambda: log.append("A"), call_us=call_us),
        Subject("ref", lambda: log.append("B"), call_us=call_us),
    ]
    session = Session(subjects, lambda side: log.append(side), StandIn(log, enough_us))
    session.run(spans, budget_s)
    # One more call of each, whose results are compared.
    assert log[-6:] == ["kernel", "A", "sync", "ref", "B", "sync"]
    return log[:-6], session


class TestOrder:
    COLD = ("spin", "flush", "mark", "call", "sync")
    WARM = ("spin", "call", "mark", "call", "sync")

    def sample(self, side: Side, steps: tuple[str, ...]) -> list[str]:
        own = "A" if side == "kernel" else "B"
        return [side, *(own if step == "call" else step for step in steps)]

    def test_kernel_and_reference_take_turns_a_b_b_a_cold_and_warm(self) -> None:
        log, session = session_log(spans=4)
        a_b_b_a: tuple[Side, ...] = ("kernel", "ref", "ref", "kernel")
        turn = [step for steps in (self.COLD, self.WARM) for side in a_b_b_a for step in self.sample(side, steps)]
        assert log[-2 * len(turn) :] == turn * 2
        settling = [
            step for side in ("kernel", "ref") for steps in (self.COLD, self.WARM) for step in self.sample(side, steps)
        ]
        plain = ["kernel", "A", "sync", "ref", "B", "sync"]
        assert log[: -2 * len(turn)] == plain * (HEAD_CALLS + PLAIN_CALLS) + settling
        assert session.recording().late == frozenset()

    def test_a_spin_that_is_too_short_is_doubled_before_samples_count(self) -> None:
        _, session = session_log(spans=2, enough_us=3 * FIRST_SPIN_US)
        # 100 and 200 are too short, 400 is enough and doubled once more to spare.
        assert [subject.spin_us for subject in session._subjects] == [{"cold": 800.0, "warm": 800.0}] * 2
        late = session.recording().late
        assert sorted(name.split(":", 1)[1] for name in late) == [
            "kernel:head:0", "kernel:head:1", "ref:head:0", "ref:head:1",
        ]  # fmt: skip

    def test_a_call_that_no_spin_covers_is_sampled_all_the_same(self) -> None:
        log, session = session_log(spans=2, enough_us=1e9)
        assert session._subjects[0].spin_us == {"cold": FIRST_SPIN_US, "warm": FIRST_SPIN_US}
        # Plain calls, settling (a warm sample makes two calls), one turn.
        assert log.count("A") == HEAD_CALLS + PLAIN_CALLS + 3 * SPIN_TRIES + 6
        assert any(":cold:" in name for name in session.recording().late)

    def test_the_budget_ends_sampling_after_whole_turns(self) -> None:
        log, _ = session_log(spans=1000, budget_s=0.0001, call_us=0.0)
        assert log.count("A") == HEAD_CALLS + PLAIN_CALLS + 3 + 6

    def test_calls_too_long_for_the_budget_are_not_sampled(self) -> None:
        log, session = session_log(spans=10, call_us=1e6, budget_s=1.0)
        assert "spin" not in log
        assert [warning.code for warning in session.warnings] == ["spans_not_sampled"]
        assert "12.0 s" in session.warnings[0].message

    def test_calls_that_launch_much_are_sampled_less(self) -> None:
        subjects = [Subject("kernel", lambda: None, enqueue_us=30_000.0), Subject("ref", lambda: None, enqueue_us=3.0)]
        session = Session(subjects, lambda side: None, None)
        # 10 000 launches a call at most: 3 calls a pair of spans, so 60 000 rows are two spans.
        assert session._affordable(200) == 2
        subjects[0].enqueue_us = 300.0
        assert session._affordable(200) == 60_000 // (3 * 100 + 4 + 3 + 4) // 2 * 2 == 192
        subjects[0].enqueue_us = 30.0
        assert session._affordable(200) == 200

    def test_one_slow_call_does_not_pass_for_many_launches(self) -> None:
        log: list[str] = []
        calls = count()

        def slow_once() -> None:
            if next(calls) == HEAD_CALLS + PLAIN_CALLS:
                time.sleep(0.1)

        subject = Subject("kernel", slow_once)
        session = Session([subject], lambda side: None, StandIn(log))
        session.run(200, 9.0)
        assert log.count("flush") == 201
        assert subject.enqueue_us < 10_000


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


def test_annotations_of_the_user_s_own_are_no_windows() -> None:
    def annotates(x: torch.Tensor, dim: int) -> torch.Tensor:
        with record_function("kprof.window:kernel:plain:0"):
            return x.logsumexp(dim)

    evidence = collected(annotates, None)
    assert evidence.kernel is not None
    assert evidence.kernel.operator_calls == 1
