"""Paths: what a gate may name, what is nearest to what it may not, and what a report has there."""

from __future__ import annotations

from typing import Any

import gate_reports
import pytest

from kprof.errors import UsageError
from kprof.gates.fields import Field
from kprof.gates.paths import LaunchChoice, look_up, parse_path
from kprof.metrics import describe
from kprof.report import Blocks


def test_a_field_carries_what_the_registry_says_of_it() -> None:
    registry = describe(Blocks)
    for path in (
        "timing.kernel_us",
        "sol.score",
        "timing.speedup",
        "memory.kernel_peak_mb",
        "launches.kernel_launches",
    ):
        field = parse_path(path).field
        assert (field.unit, field.better) == (registry[path].unit, registry[path].better)
    assert parse_path("timing.device.cold.kernel_p95_us").field.better == "lower"
    assert parse_path("precision.passed").field == Field(unit="bool", better="higher", kinds=frozenset({"boolean"}))
    assert "memory" in parse_path("bottleneck.family").field.choices


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("kernels[gemm].duration_us", LaunchChoice(side="kernel", name="gemm", nth=None)),
        ("kernels[gemm#2].sol.score", LaunchChoice(side="kernel", name="gemm", nth=2)),
        ("kernels[ref:gemm].occupancy.achieved_pct", LaunchChoice(side="ref", name="gemm", nth=None)),
        ("kernels[ref:gemm#12].duration_us", LaunchChoice(side="ref", name="gemm", nth=12)),
        ("kernels[operator()].duration_us", LaunchChoice(side="kernel", name="operator()", nth=None)),
        ("kernels[a[0] b].duration_us", LaunchChoice(side="kernel", name="a[0] b", nth=None)),
    ],
)
def test_launches_are_chosen_by_name_number_and_side(text: str, choice: LaunchChoice) -> None:
    assert parse_path(text).launch == choice


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("timing.kernl_us", "timing.kernel_us"),
        ("timing.speedpu", "timing.speedup"),
        ("speedup", "timing.speedup"),
        ("blocks.timing.kernel_us", "timing.kernel_us"),
        ("tming.kernel_us", "timing.kernel_us"),
        ("kernels[gemm].sol.scor", "kernels[gemm].sol.score"),
        ("timing", "timing."),
        ("timing.speedup_ci95", "timing.speedup_ci95[0]"),
        ("timing.device.cold", "timing.device.cold.kernel_median_us"),
    ],
)
def test_what_no_report_has_is_refused_with_the_nearest(text: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_path(text)
    assert text in caught.value.message
    assert near in caught.value.hint


@pytest.mark.parametrize(
    "text", ["", "timing.", ".kernel_us", "timing kernel_us", "kernels[gemm]", "kernels[].x", "a[x]"]
)
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_path(text)


def found(report: dict[str, Any], text: str) -> tuple[Any, str]:
    (one,) = look_up(report, parse_path(text))
    return one.value, one.code


def test_values_of_blocks_and_launches() -> None:
    report = gate_reports.recorded()
    name = report["kernels"][0]["name"]
    assert found(report, "timing.kernel_us") == (report["blocks"]["timing"]["kernel_us"], "")
    assert found(report, "timing.speedup_ci95[1]")[0] == report["blocks"]["timing"]["speedup_ci95"][1]
    assert found(report, f"kernels[{name}].duration_us") == (report["kernels"][0]["duration_us"], "")
    assert found(report, f"kernels[{name}#1].grid[0]")[0] == report["kernels"][0]["grid"][0]


def test_what_is_not_there_says_why() -> None:
    report = gate_reports.recorded()
    (sol,) = look_up(report, parse_path("sol.score"))
    assert (sol.value, sol.code) == (None, "null_value")
    assert report["blocks"]["sol"]["reasons"]["score"] in sol.problem
    (launch,) = look_up(report, parse_path("kernels[gemm].duration_us"))
    assert launch.code == "no_such_launch"
    assert report["kernels"][0]["name"] in launch.problem
    assert found({"blocks": []}, "timing.kernel_us") == (None, "null_value")
    assert found({"blocks": {}, "kernels": 3}, "kernels[a].duration_us") == (None, "null_value")


@pytest.mark.parametrize("value", ["NaN", "9.1", float("nan"), float("inf"), True, [9.1], {"us": 9.1}])
def test_what_is_no_number_is_none(value: Any) -> None:
    report = gate_reports.recorded()
    report["blocks"]["timing"]["kernel_us"] = value
    assert found(report, "timing.kernel_us") == (None, "not_a_number")


def test_an_impossible_hit_rate_takes_no_other_number_of_its_block_with_it() -> None:
    report = gate_reports.recorded("tiny")
    caches = report["blocks"]["caches"]
    assert (caches["status"], caches["reason"]["code"]) == ("suspect", "implausible_hit_rate")
    for path, code in (("l2_hit_pct", "suspect_value"), ("l1_hit_pct", "suspect_value"), ("bank_conflicts", "")):
        (one,) = look_up(report, parse_path(f"caches.{path}"))
        assert (one.value, one.code) == (caches[path], code)
    (one,) = look_up(report, parse_path("kernels[logsumexp_kernel].caches.ld_sectors_per_request"))
    assert (one.value, one.code) == (4.0, "")
    for code in ("negative_value", None, ["odd"]):
        caches["reason"]["code"] = code
        (one,) = look_up(report, parse_path("caches.bank_conflicts"))
        assert one.code == "suspect_value"


def test_a_suspect_block_has_no_value_to_rely_on() -> None:
    report = gate_reports.recorded()
    report["blocks"]["timing"]["status"] = "suspect"
    report["blocks"]["timing"]["reason"] = {"code": "timers_disagree", "message": "they disagree", "hint": ""}
    (one,) = look_up(report, parse_path("timing.kernel_us"))
    assert one.code == "suspect_value"
    assert "they disagree" in one.problem
    assert found(report, "timing.status") == ("suspect", "")


def test_a_name_means_all_its_launches_and_an_imported_report_has_no_sides() -> None:
    report = gate_reports.recorded("tiny")
    refs = [one["name"] for one in report["kernels"] if one["side"] == "ref"]
    several = next(name for name in refs if refs.count(name) > 1)
    assert len(look_up(report, parse_path(f"kernels[ref:{several}].duration_us"))) == refs.count(several)
    (second,) = look_up(report, parse_path(f"kernels[ref:{several}#2].duration_us"))
    assert second.value == [one["duration_us"] for one in report["kernels"] if one["name"] == several][1]
    for one in report["kernels"]:
        one["side"] = None
    assert len(look_up(report, parse_path(f"kernels[{several}].duration_us"))) == refs.count(several)
