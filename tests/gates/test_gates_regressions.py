"""Verdicts against a baseline: by how much a value changed, and values that are missing, wrong or doubted."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from gate_reports import KERNEL, at, recorded, slowed, slowed_value, verdict


@pytest.mark.parametrize("name", ["tiny", "medium", "large", "matmul"])
@pytest.mark.parametrize(
    "gate", [f"{KERNEL}: 1%", f"{KERNEL}: 0%", "timing.speedup: 0%", "launches.kernel_launches: 0%"]
)
def test_a_report_against_itself_passes(name: str, gate: str) -> None:
    found = verdict(gate, recorded(name), recorded(name))
    assert found.verdict == "pass", found
    assert found.change_pct == 0.0


def test_a_verdict_carries_the_numbers() -> None:
    base = recorded("large")
    found = verdict(f"{KERNEL}: 3%", slowed(base, 1.05), base)
    base_us = base["blocks"]["timing"]["kernel_us"]
    assert (found.verdict, found.code, found.kind, found.unit) == ("fail", "regression", "regression", "us")
    assert found.baseline == base_us
    assert found.value == pytest.approx(1.05 * base_us)
    assert found.threshold == pytest.approx(1.03 * base_us)
    assert found.change_pct == pytest.approx(5.0)
    assert found.change_interval_pct is not None
    low, high = found.change_interval_pct
    assert 4.0 < low < 5.0 < high < 6.0
    assert found.mde_pct is not None
    assert 0.5 < found.mde_pct <= 1.5


@pytest.mark.parametrize(
    ("name", "gate", "factor", "word", "code"),
    [
        ("large", f"{KERNEL}: 3%", 1.02, "pass", "within_tolerance"),
        ("large", f"{KERNEL}: 3%", 1.03, "pass", "within_tolerance"),
        ("large", f"{KERNEL}: 3%", 1.031, "fail", "regression"),
        ("large", f"{KERNEL}: 3%", 0.90, "pass", "improved"),
        ("large", f"{KERNEL}: 0%", 1.004, "pass", "within_noise"),
        ("large", f"{KERNEL}: 0%", 1.01, "fail", "regression"),
        ("large", f"{KERNEL}: 5 us", 1.02, "pass", "within_tolerance"),
        ("large", f"{KERNEL}: 5 us", 1.03, "fail", "regression"),
        ("large", f"{KERNEL}: 0.005 ms", 1.03, "fail", "regression"),
        ("large", f"{KERNEL}: 3% and 5 us", 1.04, "fail", "regression"),
        ("medium", f"{KERNEL}: 3% and 0.5 us", 1.04, "not_gated", "below_absolute_tolerance"),
        ("medium", f"{KERNEL}: 3% and 0.5 us", 1.06, "fail", "regression"),
        ("large", "timing.speedup: 3%", 1.02, "pass", "within_tolerance"),
        ("large", "timing.speedup: 3%", 1.05, "fail", "regression"),
        ("large", "timing.speedup: 3%", 0.90, "pass", "improved"),
        ("large", "timing.speedup: {tolerance: 3%, better: lower}", 0.90, "fail", "regression"),
        ("large", "timing.device.cold.kernel_median_us: 3%", 1.05, "fail", "regression"),
        ("tiny", f"{KERNEL}: 1%", 1.012, "pass", "within_noise"),
        ("tiny", f"{KERNEL}: 1%", 1.07, "fail", "regression"),
        ("large", f"{KERNEL}: 3%", 0.11, "pass", "improved"),
        ("large", f"{KERNEL}: 3%", 0.1, "inconclusive", "suspicious"),
        ("large", f"{KERNEL}: 3%", 0.03, "inconclusive", "suspicious"),
        ("large", "timing.speedup: 3%", 0.03, "inconclusive", "suspicious"),
    ],
)
def test_by_how_much(name: str, gate: str, factor: float, word: str, code: str) -> None:
    base = recorded(name)
    base["blocks"]["sol"]["floor_us"] = None
    report = slowed(base, factor)
    found = verdict(gate, report, base)
    assert (found.verdict, found.code) == (word, code), found


def test_a_value_that_disagrees_with_its_samples_keeps_its_value() -> None:
    base = recorded("large")
    assert verdict(f"{KERNEL}: 3%", slowed_value(base, 1.05), base).code == "regression"


def test_a_suspect_value_was_measured_and_its_hint_says_what_to_do() -> None:
    base = recorded()
    report = at(base, "blocks.timing.status", "suspect")
    report["blocks"]["timing"]["reason"] = {"code": "x", "message": "two timers disagree", "hint": "Lock the clocks."}
    found = verdict(f"{KERNEL}: 3%", report, base)
    assert (found.verdict, found.code, found.hint) == ("inconclusive", "suspect_value", "Lock the clocks.")
    assert found.message == "it was measured, but timing is suspect (two timers disagree)"


@pytest.mark.parametrize("value", [None, float("nan"), "NaN", "9.1", True])
def test_what_either_side_lacks_never_passes(value: Any) -> None:
    base = recorded()
    without = at(base, "blocks.timing.kernel_us", value)
    missing = copy.deepcopy(base)
    del missing["blocks"]["timing"]["kernel_us"]
    for report, baseline, start in ((without, base, ""), (base, without, "baseline_"), (without, without, "")):
        found = verdict(f"{KERNEL}: 3%", report, baseline)
        assert found.verdict == "inconclusive"
        assert found.code == f"{start}{'null_value' if value is None else 'not_a_number'}"
    assert verdict(f"{KERNEL}: 3%", missing, base).verdict == "inconclusive"
    assert verdict(f"{KERNEL}: 3%", base, missing).verdict == "inconclusive"


def test_without_a_baseline_there_is_no_verdict() -> None:
    found = verdict(f"{KERNEL}: 3%", recorded())
    assert (found.verdict, found.code) == ("inconclusive", "no_baseline")
    assert found.value is not None


def test_a_wrong_kernel_fails_and_a_wrong_baseline_is_none() -> None:
    right, wrong = recorded(), at(recorded(), "blocks.precision.passed", False)
    faster = slowed(wrong, 0.5)
    assert (verdict(f"{KERNEL}: 3%", faster, right).verdict, verdict(f"{KERNEL}: 3%", right, wrong).verdict) == (
        "fail",
        "inconclusive",
    )


def test_zero_in_the_baseline() -> None:
    def conflicts(report: Any, count: float) -> Any:
        report["blocks"]["caches"].update(status="ok", bank_conflicts=count)
        return report

    none, some = conflicts(recorded(), 0), conflicts(recorded(), 5)
    assert verdict("caches.bank_conflicts: 3%", none, none).verdict == "pass"
    assert verdict("caches.bank_conflicts: 3%", some, none).code == "baseline_zero"
    assert verdict("caches.bank_conflicts: 3% and 8", some, none).verdict == "not_gated"
    assert verdict("caches.bank_conflicts: 8", some, none).verdict == "pass"
    assert verdict("caches.bank_conflicts: 4", some, none).verdict == "fail"
    assert verdict("caches.bank_conflicts: 3%", none, some).code == "improved"
    zero = at(recorded(), "blocks.timing.kernel_us", 0.0)
    assert verdict(f"{KERNEL}: 3%", zero, recorded()).code == "impossible_time"
    assert verdict(f"{KERNEL}: 3%", recorded(), zero).verdict == "inconclusive"


def test_counts_are_exact_and_may_fall_by_any_factor() -> None:
    base = at(recorded(), "blocks.launches.kernel_launches", 20)
    one, more = recorded(), at(recorded(), "blocks.launches.kernel_launches", 21)
    assert verdict("launches.kernel_launches: 0%", one, base).code == "improved"
    found = verdict("launches.kernel_launches: 0%", more, base)
    assert (found.verdict, found.mde_pct) == ("fail", 0.0)


@pytest.mark.parametrize("passed", ["false", "true", 0, 1, [], {"a": 1}])
@pytest.mark.parametrize("block", ["precision", "integrity"])
def test_a_result_that_is_neither_right_nor_wrong_is_not_right(block: str, passed: Any) -> None:
    report = at(recorded(), f"blocks.{block}.passed", passed)
    found = verdict(f"{KERNEL}: 3%", report, recorded())
    assert (found.verdict, found.code) == ("fail", "wrong_result")
    assert f"{block}.passed is {passed!r}" in found.message


def test_a_time_that_its_samples_contradict_never_passes() -> None:
    base = recorded()
    slower = at(slowed(base, 1.5), "blocks.timing.kernel_us", base["blocks"]["timing"]["kernel_us"])
    faster = at(base, "blocks.timing.kernel_us", 5.0)
    for report, baseline in ((slower, base), (base, slower), (faster, base)):
        found = verdict(f"{KERNEL}: 3%", report, baseline)
        assert (found.verdict, found.code) == ("inconclusive", "contradicts_samples"), found
        assert "its samples are from" in found.message


def test_samples_beyond_all_bounds_are_no_error() -> None:
    report = recorded()
    report["blocks"]["timing"]["samples_us"]["device"]["kernel"] = [1e-300, 9.0, 9.2, 1e300] * 6
    found = verdict(f"{KERNEL}: 3%", report, report)
    assert found.verdict != "fail"
