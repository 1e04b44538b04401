"""Several runs' launches as one body of evidence."""

from __future__ import annotations

import msgspec
import pytest

from kprof.collectors.ncu_run.joining import (
    first_of_each_side,
    joined,
    of_process,
    of_side,
    together,
    uses_tensor_cores,
    with_further_samples,
)
from kprof.counter_evidence import CounterRun, CountersEvidence, ProfiledLaunch
from kprof.evidence import Reason, Side

MATRIX = "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.avg.pct_of_peak_sustained_elapsed"
TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
DMMA = "sm__pipe_tensor_op_dmma_cycles_active.avg.pct_of_peak_sustained_elapsed"
SUM = "sm__ops_path_tensor_src_fp16.sum"


def launch(number: int, name: str = "k", side: Side | None = "kernel", grid: int = 1, **more: object) -> ProfiledLaunch:
    made = ProfiledLaunch(launch_id=number, name=name, side=side, grid=(grid, 1, 1))
    return msgspec.structs.replace(made, **more)


def evidence(*launches: ProfiledLaunch, purpose: str = "default", **more: object) -> CountersEvidence:
    run = CounterRun(purpose=purpose, metrics_asked=1, seconds=1.0, launches=len(launches), passes=1)  # type: ignore[arg-type]
    made = CountersEvidence(format="ncu_report", launches=launches, runs=(run,))
    return msgspec.structs.replace(made, **more)


def test_launches_of_other_processes_are_left_out_and_said() -> None:
    both = evidence(launch(0, process_id=7), launch(1, process_id=8), launch(2))
    own = of_process(both, 7)
    assert [one.launch_id for one in own.launches] == [0, 2]
    assert [reason.code for reason in own.warnings] == ["other_processes"]
    assert of_process(both, None) == both
    assert of_process(own, 7) == own


def test_a_run_of_one_side_tells_the_side_of_all_its_launches() -> None:
    assert [one.side for one in of_side(evidence(launch(0, side=None), launch(1)), "ref").launches] == ["ref", "ref"]


def test_a_cap_is_a_sides_own() -> None:
    launches = [launch(0), launch(1), launch(2), launch(3, side="ref"), launch(4, side="ref")]
    assert [one.launch_id for one in first_of_each_side(launches, 2)] == [0, 1, 3, 4]


def test_runs_follow_one_another_with_numbers_of_their_own() -> None:
    warned = Reason(code="w", message="m")
    parts = [evidence(launch(0), launch(3), warnings=(warned,)), evidence(launch(0, side="ref"), warnings=(warned,))]
    whole = together(parts)
    assert [(one.launch_id, one.side) for one in whole.launches] == [(0, "kernel"), (3, "kernel"), (4, "ref")]
    assert len(whole.runs) == 2
    assert whole.warnings == (warned,)


@pytest.mark.parametrize(
    ("metrics", "uses"),
    [
        ({MATRIX: 0.1, TENSOR: 1.0}, True),
        ({MATRIX: 0.0, TENSOR: 30.0}, False),  # FP16 vector instructions in the tensor pipe.
        ({TENSOR: 30.0}, True),
        ({MATRIX: 0.0, DMMA: 2.0}, True),
        ({MATRIX: 0.0, TENSOR: 0.0, DMMA: 0.0}, False),
        ({}, False),
    ],
)
def test_tensor_cores_are_used_where_their_pipes_were_busy(metrics: dict[str, float], uses: bool) -> None:
    assert uses_tensor_cores(launch(0, metrics=metrics)) is uses


def test_sums_join_by_side_name_grid_and_place() -> None:
    first = evidence(
        launch(0, "void ns::gemm<4>(float*)", grid=8, metrics={"d": 1.0}),
        launch(1, "other", metrics={"d": 2.0}),
        launch(2, "void ns::gemm<4>(float*)", grid=8, metrics={"d": 3.0}),
        launch(3, "gemm", "ref", grid=8, metrics={"d": 4.0}),
        launch(4, "gemm", grid=9, metrics={"d": 5.0}, absent={SUM: "blank"}),
    )
    second = evidence(
        launch(0, "gemm", grid=8, metrics={SUM: 10.0, "d": 99.0}),
        launch(1, "gemm", grid=8, metrics={SUM: 30.0}),
        launch(2, "gemm", grid=9, metrics={SUM: 50.0}),
        launch(3, "gemm", "ref", grid=8, metrics={SUM: 40.0}),
        purpose="tensor",
    )
    wanted = [one for one in first.launches if one.launch_id != 1]
    whole, missed = joined(first, second, wanted)
    assert missed == 0
    assert [one.metrics.get(SUM) for one in whole.launches] == [10.0, None, 30.0, 40.0, 50.0]
    assert [one.metrics["d"] for one in whole.launches] == [1.0, 2.0, 3.0, 4.0, 5.0], "the first run's stand"
    assert whole.launches[4].absent == {}
    assert [one.name for one in whole.launches] == [one.name for one in first.launches]


def test_what_does_not_join_stays_without() -> None:
    first = evidence(launch(0, "gemm", grid=8), launch(1, "gemm", grid=8))
    second = evidence(launch(0, "gemm", grid=8, metrics={SUM: 1.0}), launch(1, "gemm", grid=9, metrics={SUM: 2.0}))
    whole, missed = joined(first, second, first.launches)
    assert missed == 1
    assert [SUM in one.metrics for one in whole.launches] == [True, False]


def sampled(
    waits: float, *, further: bool = False, name: str = "k", grid: tuple[int, int, int] = (2, 1, 1)
) -> ProfiledLaunch:
    metrics: dict[str, float | str] = {"smsp__pcsamp_warps_issue_stalled_wait": waits, "gpu__time_duration.sum": 2000.0}
    return ProfiledLaunch(launch_id=0, side="kernel", name=name, grid=grid, metrics=metrics, samples_only=further)


def test_samples_of_further_calls_are_added_to_those_of_the_first() -> None:
    first = [sampled(100.0), sampled(50.0)]
    further = [
        sampled(10.0, further=True),
        sampled(5.0, further=True),
        sampled(1.0, further=True),
        sampled(2.0, further=True),
    ]
    found = with_further_samples(CountersEvidence(format="ncu_report", launches=(*first, *further))).launches
    assert [launch.metrics["smsp__pcsamp_warps_issue_stalled_wait"] for launch in found] == [111.0, 57.0]
    assert {launch.metrics["gpu__time_duration.sum"] for launch in found} == {2000.0}


def test_further_calls_of_another_kernel_add_nothing() -> None:
    launches = (sampled(100.0), sampled(7.0, further=True, name="other"), sampled(9.0, further=True, grid=(3, 1, 1)))
    found = with_further_samples(CountersEvidence(format="ncu_report", launches=launches)).launches
    assert [launch.metrics["smsp__pcsamp_warps_issue_stalled_wait"] for launch in found] == [100.0]
