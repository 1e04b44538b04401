"""Noise in verdicts against a baseline: timer steps, fresh processes, other boards, and what could have been found."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from gate_reports import KERNEL, at, recorded, slowed, slowed_value, verdict

from kprof.gates.noise import prior_spread
from kprof.gates.regressions import Policy


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


def test_another_board_of_the_model_is_compared_with_more_noise() -> None:
    base = recorded("large")
    report = slowed(base, 1.025)
    assert verdict(f"{KERNEL}: 1%", report, base).verdict == "fail"
    report["environment"]["gpu_uuid"] = "GPU-another"
    found = verdict(f"{KERNEL}: 1%", report, base)
    assert (found.verdict, found.code) == ("pass", "within_noise")
    assert "other_board" in [one.code for one in found.warnings]


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


def test_two_timers_are_compared_with_more_noise() -> None:
    base = recorded("large")
    report = slowed(base, 1.02)
    report["blocks"]["timing"]["device"]["cold"]["kernel_estimator"] = "cupti"
    found = verdict(f"{KERNEL}: 1%", report, base)
    assert found.code == "within_noise"
    assert "other_timer" in [one.code for one in found.warnings]
