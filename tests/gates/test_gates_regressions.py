"""Verdicts against a baseline: tolerance, noise, timer steps, and everything that makes a comparison void."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from gate_reports import recorded, slowed, verdict

from kprof.gates.noise import prior_spread
from kprof.gates.regressions import Policy

KERNEL = "timing.kernel_us"


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


def test_one_step_of_the_timer_is_no_regression() -> None:
    base = recorded("tiny")
    timing = base["blocks"]["timing"]
    timing["samples_us"]["device"]["kernel"] = [0.64] * 199
    timing["kernel_us"] = 0.64
    # Twelve fresh processes that agree make the noise between processes small: only the step is left.
    quiet = {"timer": "cupti", "cache": "cold", "kernel_us": [0.64] * 400, "ref_us": None}
    timing["repeats"] = [quiet]
    timing["device"]["cold"]["kernel_median_us"] = 0.64
    for steps, word in ((1, "pass"), (2, "fail")):
        report = copy.deepcopy(base)
        us = 0.64 + 0.032 * steps
        report["blocks"]["timing"]["samples_us"]["device"]["kernel"] = [us] * 199
        report["blocks"]["timing"]["kernel_us"] = us
        assert verdict(f"{KERNEL}: 1%", report, base).verdict == word


def test_under_ten_steps_of_its_timer_a_time_is_not_gated() -> None:
    base = recorded("tiny")
    short = slowed(base, 0.2)  # 0.31 us, of steps of 0.032
    found = verdict(f"{KERNEL}: 1%", slowed(short, 1.01), short)
    assert (found.verdict, found.code) == ("not_gated", "below_resolution")
    assert verdict(f"{KERNEL}: 1%", slowed(short, 1.5), short).code == "regression"


def test_the_prior_is_the_one_that_is_stated() -> None:
    assert [prior_spread(us) for us in (0.5, 1.6, 1.7, 2.9)] == [0.03, 0.03, 0.02, 0.02]
    assert [prior_spread(us) for us in (3.0, 9.9, 10.0, 1e6)] == [0.01, 0.01, 0.005, 0.005]


@pytest.mark.parametrize(("name", "most"), [("tiny", 7.0), ("large", 1.5), ("matmul", 1.5)])
def test_the_least_regression_found_without_repeats(name: str, most: float) -> None:
    found = verdict(f"{KERNEL}: 1%", recorded(name), recorded(name))
    assert found.mde_pct is not None
    assert found.mde_pct <= most


def test_a_weak_pass_says_so_and_is_none_where_power_is_required() -> None:
    report = recorded("tiny")
    weak = verdict(f"{KERNEL}: 1%", report, report)
    assert weak.verdict == "pass"
    assert [one.code for one in weak.warnings] == ["underpowered"]
    required = verdict(f"{KERNEL}: 1%", report, report, Policy(require_power=True))
    assert (required.verdict, required.code) == ("inconclusive", "underpowered")
    assert verdict(f"{KERNEL}: 10%", report, report, Policy(require_power=True)).verdict == "pass"
    assert verdict(f"{KERNEL}: 10%", report, report).warnings == ()
    assert verdict("launches.kernel_launches: 0%", report, report, Policy(require_power=True)).verdict == "pass"


def with_repeats(report: dict[str, Any], medians: list[float]) -> dict[str, Any]:
    made = copy.deepcopy(report)
    timing = made["blocks"]["timing"]
    timer = timing["device"]["cold"]["kernel_estimator"]
    timing["repeats"] = [{"timer": timer, "cache": "cold", "kernel_us": medians, "ref_us": medians}]
    return made


def test_fresh_processes_say_more_than_the_prior() -> None:
    base = recorded("large")
    raw = base["blocks"]["timing"]["event"]["cold"]["kernel_median_us"]
    plain = verdict(f"{KERNEL}: 1%", base, base).mde_pct
    quiet = with_repeats(base, [raw] * 8)
    restless = with_repeats(base, [raw * factor for factor in (1.0, 1.13, 1.0, 1.13)])
    narrow, wide = (verdict(f"{KERNEL}: 1%", one, one).mde_pct for one in (quiet, restless))
    assert plain is not None
    assert narrow is not None
    assert wide is not None
    assert narrow < 0.75 * plain
    assert wide > 10 * plain
    # Bimodal from process to process: 6 % is no regression there.
    assert verdict(f"{KERNEL}: 3%", slowed(restless, 1.06), restless).code == "within_noise"
    assert verdict(f"{KERNEL}: 3%", slowed(quiet, 1.06), quiet).code == "regression"


def two_speeds(fast: int) -> dict[str, Any]:
    """So many calls of 199 at 1.376 and 1.408 us, the others at 1.536."""
    report = recorded("tiny")
    timing, half = report["blocks"]["timing"], fast // 2
    timing["samples_us"]["device"]["kernel"] = [1.376] * half + [1.408] * (fast - half) + [1.536] * (199 - fast)
    timing["kernel_us"] = 1.408 if fast > 100 else 1.536
    return report


def test_a_median_that_jumps_between_two_speeds_is_no_regression() -> None:
    """As measured at 1.4 us: a process has now the one more often, now the other."""
    found = verdict(f"{KERNEL}: 1%", two_speeds(90), two_speeds(110))
    assert (found.verdict, found.code) == ("pass", "within_noise"), found
    assert "two_speeds" in [one.code for one in found.warnings]
    assert verdict(f"{KERNEL}: 1%", slowed(two_speeds(110), 1.1), two_speeds(110)).code == "regression"


def test_a_kernel_that_is_slow_more_often_is_a_regression_though_its_fast_calls_are_as_fast() -> None:
    found = verdict(f"{KERNEL}: 1%", two_speeds(90), two_speeds(190))
    assert (found.verdict, found.code) == ("fail", "regression"), found


def test_a_value_that_disagrees_with_its_samples_keeps_its_value() -> None:
    base = recorded("large")
    assert verdict(f"{KERNEL}: 3%", slowed_value(base, 1.05), base).code == "regression"


def test_another_board_of_the_model_is_compared_with_more_noise() -> None:
    base = recorded("large")
    report = slowed(base, 1.025)
    assert verdict(f"{KERNEL}: 1%", report, base).verdict == "fail"
    report["environment"]["gpu_uuid"] = "GPU-another"
    found = verdict(f"{KERNEL}: 1%", report, base)
    assert (found.verdict, found.code) == ("pass", "within_noise")
    assert "other_board" in [one.code for one in found.warnings]


def test_a_clock_that_fell_is_no_regression() -> None:
    base = recorded("large")
    report = slowed(base, 1.08)
    assert base["blocks"]["timing"]["sm_clock_mhz"] == 1980.0
    report["blocks"]["timing"]["sm_clock_mhz"] = 1980.0 / 1.08
    found = verdict(f"{KERNEL}: 3%", report, base)
    assert (found.verdict, found.code) == ("inconclusive", "clock_differs")
    report["blocks"]["timing"]["sm_clock_mhz"] = 1950.0
    assert verdict(f"{KERNEL}: 3%", report, base).verdict == "fail"


def at(report: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(report)
    *above, last = path.split(".")
    holder = made
    for name in above:
        holder = holder[name]
    holder[last] = value
    return made


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        ("workload.ref_sha256", "0" * 64, "ref_sha256"),
        ("workload.entry", "Other", "entry"),
        ("workload.seed", 1, "seed"),
        ("workload.overrides", {"R": 8}, "overrides"),
        ("workload.ref_mode", "compile", "ref_mode"),
        ("workload.inputs", [], "shapes"),
        ("workload.inputs", [{"shape": [4, 1024, 1024], "dtype": "float16"}], "dtypes"),
    ],
)
def test_a_baseline_of_another_task(path: str, value: Any, name: str) -> None:
    base = recorded()
    for report, baseline in ((at(base, path, value), base), (base, at(base, path, value))):
        found = verdict(f"{KERNEL}: 3%", report, baseline, Policy(ignored=("driver",)))
        assert (found.verdict, found.code) == ("inconclusive", "other_task")
        assert name in found.message
        assert found.value is not None


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        ("environment.device_name", "NVIDIA A100", "board"),
        ("environment.device_name", None, "board"),
        ("environment.compute_capability", "8.0", "compute_capability"),
        ("environment.memory_bytes", 1, "memory_bytes"),
        ("environment.driver", "1.2", "driver"),
        ("environment.cuda", "1.2", "cuda"),
        ("environment.torch", "1.2", "torch"),
        ("environment.tf32_matmul", True, "tf32_matmul"),
        ("blocks.timing.throttle_reasons", ["applications_clocks_setting"], "clock_policy"),
    ],
)
def test_a_baseline_measured_otherwise(path: str, value: Any, name: str) -> None:
    base = recorded()
    found = verdict(f"{KERNEL}: 3%", base, at(base, path, value))
    assert (found.verdict, found.code) == ("inconclusive", "not_comparable")
    assert name in found.message
    assert f"--ignore-difference {name}" in found.hint
    ignored = verdict(f"{KERNEL}: 3%", base, at(base, path, value), Policy(ignored=(name,)))
    assert ignored.verdict == "pass"
    assert "difference_ignored" in [one.code for one in ignored.warnings]


def test_the_kernel_its_file_and_what_has_no_bearing_may_differ() -> None:
    base = recorded()
    for path, value in (
        ("workload.kernel_sha256", "0" * 64),
        ("workload.kernel_file", "other.py"),
        ("environment.triton", "9.9"),
        ("environment.ncu", "9.9"),
        ("environment.command", []),
        ("environment.device", "cuda:3"),
        ("blocks.timing.throttle_reasons", ["sw_power_cap"]),
        ("kprof_version", "9.9"),
    ):
        assert verdict(f"{KERNEL}: 3%", base, at(base, path, value)).verdict == "pass", path
    both = [at(base, "environment.driver", None)] * 2
    assert verdict(f"{KERNEL}: 3%", *both).verdict == "pass"


def test_the_version_of_triton_matters_between_two_triton_kernels_alone() -> None:
    base = recorded()
    assert base["workload"]["kind"] == "cuda"
    fused = at(at(base, "workload.kind", "triton"), "environment.triton", "3.6.0")
    for report, baseline in ((fused, base), (base, fused), (fused, fused)):
        assert verdict(f"{KERNEL}: 3%", report, baseline).verdict == "pass"
    found = verdict(f"{KERNEL}: 3%", fused, at(fused, "environment.triton", "9.9"))
    assert (found.code, "triton is 3.6.0, in the baseline 9.9" in found.message) == ("not_comparable", True)


INT8 = [{"shape": [4, 10, 32], "dtype": "int8"}, {"shape": [8], "dtype": "int8"}]


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (
            "workload.overrides",
            {"R": 8, "B": 8192, "name": "x"},
            "overrides is R=8 B=8192 name=x, in the baseline R=4 ",
        ),
        ("workload.overrides", {}, "overrides is none, in the baseline R=4 "),
        ("workload.inputs", INT8, "shapes is (4, 10, 32), (8,), in the baseline (4, 1024, 1024);"),
        ("workload.inputs", INT8, "dtypes is int8, int8, in the baseline float32"),
        ("environment.tf32_matmul", True, "tf32_matmul is true, in the baseline false"),
    ],
)
def test_differences_are_told_as_people_write_them(path: str, value: Any, told: str) -> None:
    base = recorded()
    assert told in verdict(f"{KERNEL}: 3%", at(base, path, value), base).message


def test_a_suspect_value_was_measured_and_its_hint_says_what_to_do() -> None:
    base = recorded()
    report = at(base, "blocks.timing.status", "suspect")
    report["blocks"]["timing"]["reason"] = {"code": "x", "message": "two timers disagree", "hint": "Lock the clocks."}
    found = verdict(f"{KERNEL}: 3%", report, base)
    assert (found.verdict, found.code, found.hint) == ("inconclusive", "suspect_value", "Lock the clocks.")
    assert found.message == "it was measured, but timing is suspect (two timers disagree)"


def test_ncu_matters_to_what_it_measured() -> None:
    base = recorded()
    base["blocks"]["sol"].update(status="ok", score=0.8, task_score=0.5)
    other = at(base, "environment.ncu", "9.9")
    assert verdict("sol.score: 3%", base, other).code == "not_comparable"
    assert verdict("sol.task_score: 3%", base, other).verdict == "pass"


def test_host_time_is_no_device_time() -> None:
    base = recorded()
    found = verdict(f"{KERNEL}: 3%", at(base, "blocks.timing.headline_view", "host"), base)
    assert (found.verdict, found.code) == ("inconclusive", "not_comparable")
    assert "headline_view" in found.message


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


def test_a_number_of_unknown_noise_goes_by_the_tolerance_and_says_so() -> None:
    base = recorded()
    path = "kernels[logsumexp_kernel].duration_us"
    report = copy.deepcopy(base)
    report["kernels"][0]["duration_us"] *= 1.04
    found = verdict(f"{path}: 3%", report, base)
    assert (found.verdict, found.mde_pct, found.change_interval_pct) == ("fail", None, None)
    assert [one.code for one in found.warnings] == ["noise_unknown"]
    assert verdict(f"{path}: 5%", report, base).verdict == "pass"
    assert verdict(f"{path}: 5%", report, base, Policy(require_power=True)).code == "underpowered"


def test_a_time_without_samples_says_so() -> None:
    base = at(recorded("large"), "blocks.timing.samples_us", {})
    found = verdict(f"{KERNEL}: 3%", slowed_value(base, 1.05), base)
    assert found.verdict == "fail"
    assert "too_few_samples" in [one.code for one in found.warnings]
    assert found.mde_pct is None


def slowed_value(report: dict[str, Any], factor: float) -> dict[str, Any]:
    return at(report, "blocks.timing.kernel_us", factor * report["blocks"]["timing"]["kernel_us"])


def test_two_timers_are_compared_with_more_noise() -> None:
    base = recorded("large")
    report = slowed(base, 1.02)
    report["blocks"]["timing"]["device"]["cold"]["kernel_estimator"] = "cupti"
    found = verdict(f"{KERNEL}: 1%", report, base)
    assert found.code == "within_noise"
    assert "other_timer" in [one.code for one in found.warnings]
