"""Counting launches in real runs on the CPU: there are none, and operator calls stand beside."""

from __future__ import annotations

import tempfile
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
from kprof.evidence import Side
from kprof.launches_evidence import LaunchesEvidence


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


def test_annotations_of_the_user_s_own_are_no_windows() -> None:
    def annotates(x: torch.Tensor, dim: int) -> torch.Tensor:
        with record_function("kprof.window:kernel:plain:0"):
            return x.logsumexp(dim)

    evidence = collected(annotates, None)
    assert evidence.kernel is not None
    assert evidence.kernel.operator_calls == 1
