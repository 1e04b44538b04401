"""``kernels[]``: launches as the profiler saw them, joined with those that ncu profiled."""

from __future__ import annotations

from typing import Any

import captures
import made_evidence
import pytest

from kprof.counter_evidence import CountersEvidence, ProfiledLaunch
from kprof.evidence import Side
from kprof.launches_evidence import LaunchesEvidence, SideLaunches
from kprof.report import build_report

Grid = tuple[int, int, int]


def seen(*kernels: tuple[str, int]) -> SideLaunches:
    made = [
        made_evidence.kernel_launch(name, float(i), 1.0, grid=(grid, 1, 1)) for i, (name, grid) in enumerate(kernels)
    ]
    return SideLaunches(launches=tuple(made), host_launches=len(made), operator_calls=0)


def counted(*kernels: tuple[str, int], side: Side | None = "kernel") -> CountersEvidence:
    made = [
        ProfiledLaunch(
            launch_id=i, side=side, name=name, grid=(grid, 1, 1), metrics={"gpu__time_duration.sum": 2000.0 + i}
        )
        for i, (name, grid) in enumerate(kernels)
    ]
    return CountersEvidence(format="ncu_report", launches=tuple(made))


def joined(launches: SideLaunches, counters: CountersEvidence) -> list[tuple[str, bool, bool]]:
    """Name, whether the profiler saw it, whether ncu did."""
    capture = captures.h200_tiny(launches=LaunchesEvidence(kernel=launches), counters=counters)
    return [
        (one.name, one.duration_source == "torch.profiler", one.launch_id is not None)
        for one in build_report(capture).kernels
    ]


@pytest.mark.parametrize(
    ("profiler", "ncu", "expected"),
    [
        ([("a", 1), ("b", 1)], [("a", 1), ("b", 1)], [("a", True, True), ("b", True, True)]),
        ([("a", 1), ("a", 1), ("a", 1)], [("a", 1)], [("a", True, True), ("a", True, False), ("a", True, False)]),
        ([("a", 1)], [("a", 1), ("b", 1)], [("a", True, True), ("b", False, True)]),
        ([("a", 1), ("a", 2)], [("a", 2)], [("a", True, False), ("a", True, True)]),
        (
            [("x", 1), ("a", 1), ("b", 1), ("c", 1)],
            [("c", 1), ("a", 1), ("b", 1)],
            [("x", True, False), ("c", False, True), ("a", True, True), ("b", True, True), ("c", True, False)],
        ),
        ([("f<int>(int*)", 1)], [("void f<int>(int *)", 1)], [("f", True, True)]),
        ([], [("a", 1)], [("a", False, True)]),
    ],
)
def test_joined_by_launch_order(profiler: Any, ncu: Any, expected: list[tuple[str, bool, bool]]) -> None:
    assert joined(seen(*profiler), counted(*ncu)) == expected


def test_counters_are_those_of_the_very_launch() -> None:
    capture = captures.h200_tiny(
        launches=LaunchesEvidence(kernel=seen(("a", 1), ("a", 1))), counters=counted(("a", 1), ("a", 1))
    )
    kernels = build_report(capture).kernels
    assert [one.launch_id for one in kernels] == [0, 1]
    assert all(one.bottleneck is not None and one.bottleneck.family == "unknown" for one in kernels)


def test_an_import_has_every_launch_without_a_side() -> None:
    capture = captures.h200_tiny(
        workload=None, launches=None, requested=("roofline",), counters=counted(("a", 1), ("b", 1), side=None)
    )
    kernels = build_report(capture, "imported").kernels
    assert [(one.name, one.side, one.duration_us) for one in kernels] == [("a", None, 2.0), ("b", None, 2.001)]
    assert kernels[0].reasons["side"] == "report_does_not_say"
