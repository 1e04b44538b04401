"""Verdicts on values against numbers, words and flags. Nothing that was not measured passes."""

from __future__ import annotations

from typing import Any

import gate_reports
import pytest
from gate_reports import recorded, verdict


@pytest.mark.parametrize(
    ("text", "word", "code"),
    [
        ("timing.kernel_us <= 12 us", "pass", "within_threshold"),
        ("timing.kernel_us <= 9 us", "fail", "threshold_not_met"),
        ("timing.speedup >= 6", "pass", "within_threshold"),
        ("timing.speedup >= 7", "fail", "threshold_not_met"),
        ("precision.passed == true", "pass", "within_threshold"),
        ("precision.passed != true", "fail", "threshold_not_met"),
        ("timing.headline_view == device", "pass", "within_threshold"),
        ("timing.headline_view == host", "fail", "threshold_not_met"),
        ("launches.kernel_launches <= 1", "pass", "within_threshold"),
        ("sol.score >= 0.5", "inconclusive", "null_value"),
        ("sol.score < 0.5", "inconclusive", "null_value"),
        ("kernels[logsumexp_kernel].duration_us < 20", "pass", "within_threshold"),
        ("kernels[logsumexp_kernel].sol.score > 0.1", "inconclusive", "null_value"),
        ("kernels[logsumexp].duration_us < 20", "inconclusive", "no_such_launch"),
        ("kernels[logsumexp_kernel#2].duration_us < 20", "inconclusive", "no_such_launch"),
    ],
)
def test_verdicts_on_a_recorded_report(text: str, word: str, code: str) -> None:
    found = verdict(text, recorded())
    assert (found.verdict, found.code) == (word, code)
    assert found.kind == "threshold"
    assert found.message


def test_a_verdict_carries_the_numbers() -> None:
    report = recorded()
    found = verdict("timing.kernel_us   <=  0.009 ms", report)
    assert found.metric == "timing.kernel_us"
    assert found.expression == "timing.kernel_us <= 0.009 ms"
    assert (found.value, found.threshold, found.unit) == (report["blocks"]["timing"]["kernel_us"], 9.0, "us")
    assert (found.baseline, found.change_pct, found.mde_pct) == (None, None, None)
    assert "9.183 us against <= 9.000 us" in found.message


def test_exactly_at_the_threshold() -> None:
    report = recorded()
    report["blocks"]["timing"]["kernel_us"] = 12.0
    words = {op: verdict(f"timing.kernel_us {op} 12 us", report).verdict for op in ("<", "<=", ">", ">=", "==", "!=")}
    assert words == {"<": "fail", "<=": "pass", ">": "fail", ">=": "pass", "==": "pass", "!=": "fail"}


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), "NaN", "12", True, [], {}])
@pytest.mark.parametrize("operator", ["<", ">", "==", "!="])
def test_what_is_no_number_never_passes(value: Any, operator: str) -> None:
    report = recorded()
    report["blocks"]["timing"]["kernel_us"] = value
    assert verdict(f"timing.kernel_us {operator} 12", report).verdict == "inconclusive"


@pytest.mark.parametrize("part", ["kernel_us", "blocks", "timing"])
def test_what_is_missing_never_passes(part: str) -> None:
    report = recorded()
    holder = {"kernel_us": report["blocks"]["timing"], "blocks": report, "timing": report["blocks"]}[part]
    del holder[part]
    assert verdict("timing.kernel_us < 1e9", report).verdict == "inconclusive"


def test_a_suspect_value_never_passes_and_never_fails() -> None:
    report = recorded()
    report["blocks"]["timing"]["status"] = "suspect"
    for text in ("timing.kernel_us < 12", "timing.kernel_us > 12"):
        found = verdict(text, report)
        assert (found.verdict, found.code) == ("inconclusive", "suspect_value")
        assert found.message.startswith("it was measured, but timing is suspect")
        assert found.hint == "Mend what the reason names, and measure again."


def test_a_null_without_its_reason_and_fields_that_disagree_are_no_refusal() -> None:
    report = recorded()
    report["blocks"]["timing"]["reasons"] = {}
    report["blocks"]["timing"]["speedup"] = 8.0
    assert verdict("timing.speedup > 7.9", report).verdict == "pass"
    report["blocks"]["sol"]["reasons"] = None
    assert verdict("sol.score > 0.1", report).code == "null_value"


def test_a_wrong_kernel_fails_whatever_its_speed_and_says_so_once_more() -> None:
    report = recorded()
    report["blocks"]["precision"]["passed"] = False
    plan = gate_reports.plan("thresholds:\n  - timing.speedup > 1\n  - precision.max_abs_error < 1\n")
    first, speed, error, regression = gate_reports.judge(plan, report, recorded())
    assert (first.kind, first.verdict, first.code) == ("result", "fail", "wrong_result")
    assert (speed.verdict, speed.code) == ("fail", "wrong_result")
    assert error.verdict == "pass"
    assert (regression.verdict, regression.code) == ("fail", "wrong_result")


def test_a_kernel_that_did_not_do_its_work_is_wrong_too() -> None:
    report = recorded()
    checks = [{"name": "reads_inputs", "severity": "fail", "passed": False, "detail": ""}]
    report["blocks"]["integrity"] = {"status": "ok", "passed": False, "checks": checks, "reasons": {}}
    found = verdict("timing.speedup > 1", report)
    assert (found.verdict, found.code) == ("fail", "wrong_result")
    assert "reads_inputs" in found.message


def test_a_time_under_the_floor_is_suspicious() -> None:
    report = recorded()
    report["blocks"]["sol"].update(floor_us=9.5, floor_kind="bytes_only")
    for text in ("timing.kernel_us < 12", "timing.speedup > 1", "timing.kernel_us > 12"):
        assert verdict(text, report).code == "suspicious"
    assert verdict("timing.ref_us < 100", report).verdict == "pass"
    report["blocks"]["sol"]["floor_kind"] = "upper_estimate"
    assert verdict("timing.kernel_us < 12", report).verdict == "pass"


@pytest.mark.parametrize("us", [0.0, -1.0, 1e-300])
def test_what_is_no_time_passes_nothing(us: float) -> None:
    report = recorded()
    report["blocks"]["timing"]["kernel_us"] = us
    report["kernels"][0]["duration_us"] = us
    for text in ("timing.kernel_us <= 12 us", "timing.kernel_us >= -5 us", "kernels[logsumexp_kernel].duration_us < 1"):
        found = verdict(text, report)
        assert (found.verdict, found.code) == ("inconclusive", "impossible_time")


@pytest.mark.parametrize(("pct", "word"), [(150.0, "inconclusive"), (-1.0, "inconclusive"), (100.01, "pass")])
def test_more_than_all_of_a_whole_passes_nothing(pct: float, word: str) -> None:
    report = recorded()
    report["blocks"]["caches"] = {"status": "ok", "l2_hit_pct": pct, "reasons": {}}
    found = verdict("caches.l2_hit_pct >= 90" if pct > 0 else "caches.l2_hit_pct <= 90", report)
    assert (found.verdict, found.value) == (word, pct)


def test_a_name_may_hold_operators() -> None:
    report = recorded()
    report["kernels"][0].update(name="operator<=", duration_us=2.0)
    assert verdict("kernels[operator<=].duration_us <= 3", report).verdict == "pass"
    assert verdict("kernels[operator<=].duration_us<=1", report).verdict == "fail"


def test_of_several_launches_the_worst_counts() -> None:
    report = recorded()
    times = [one["duration_us"] for one in report["kernels"] if one["name"] == "vectorized_elementwise_kernel"]
    assert len(times) > 1
    path = "kernels[ref:vectorized_elementwise_kernel].duration_us"
    above, below = max(times) * 0.999, min(times) * 1.001
    assert verdict(f"{path} < {above}", report).value == max(times)
    assert verdict(f"{path} < {above}", report).verdict == "fail"
    assert verdict(f"{path} > {below}", report).value == min(times)
    assert verdict(f"{path} > {below}", report).verdict == "fail"
    assert verdict(f"{path} < {max(times) * 1.001}", report).verdict == "pass"
    report["kernels"][[one["duration_us"] for one in report["kernels"]].index(min(times))]["duration_us"] = None
    assert verdict(f"{path} < {max(times) * 1.001}", report).verdict == "inconclusive"
    assert verdict(f"{path} < {above}", report).verdict == "fail"
