"""Keeping few of very many trials, and all of what they say together."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from made_evidence import trial, wrong_trial

from kprof.collectors.precision.records import TrialLog
from kprof.evidence import Reason
from kprof.precision_evidence import Mismatch, PrecisionTrial


def filled(trials: list[PrecisionTrial], most: int) -> TrialLog:
    log = TrialLog(most)
    for one in trials:
        log.add(one)
    return log


def seeds(log: TrialLog) -> list[int]:
    return [one.seed for one in log.kept]


def test_few_are_all_kept() -> None:
    log = filled([trial(seed) for seed in range(8)], 8)
    assert (seeds(log), log.left_out, log.run, log.agreed) == (list(range(8)), None, 8, 8)


def test_those_that_agree_are_thinned_evenly_and_the_worst_stays() -> None:
    log = filled([trial(seed, worst_over_tolerance=0.9 if seed == 7 else 0.1) for seed in range(30)], 8)
    assert seeds(log) == [0, 7, 8, 16, 24]
    assert (log.run, log.agreed) == (30, 30)


def test_failing_ones_go_last() -> None:
    trials = [wrong_trial(seed) if seed % 10 == 3 else trial(seed) for seed in range(50)]
    log = filled(trials, 8)
    assert [seed for seed in seeds(log) if seed % 10 == 3] == [3, 13, 23, 33, 43]
    assert (log.run, log.agreed) == (50, 45)


def test_where_all_fail_the_worst_stays() -> None:
    log = filled([wrong_trial(seed, worst_over_tolerance=float(seed == 33)) for seed in range(100)], 8)
    assert 33 in seeds(log)
    assert len(seeds(log)) <= 8
    assert log.left_out is not None
    assert [one.code for one in log.left_out.mismatches] == ["values"]
    assert log.left_out.mismatched_elements == 12 * (100 - len(seeds(log)))


def test_what_is_left_out_is_added_up() -> None:
    note = Reason(code="strides_differ", message="once")
    changes: list[dict[str, Any]] = [
        {},
        {"max_abs_error": 3.0, "mean_abs_error": 1.0, "elements": 100, "vacuous_controls": ("zeros",)},
        {},
        {"max_rel_error": 5.0, "mean_abs_error": 2.0, "elements": 300, "deterministic": False, "notes": (note, note)},
    ]
    log = filled([trial(seed, **change) for seed, change in enumerate(changes)], 3)
    left = log.left_out
    assert seeds(log) == [0, 2]
    assert left is not None
    assert (left.elements, left.mismatched_elements, left.max_abs_error, left.max_rel_error) == (400, 0, 3.0, 5.0)
    assert left.mean_abs_error == pytest.approx(1.75)
    assert (left.deterministic, left.vacuous_controls, left.notes) == (False, ("zeros",), (note,))
    assert (left.worst_index, left.tolerances, left.shapes) == (None, (), ())


def test_a_failing_trial_has_no_say_in_what_is_vacuous_and_the_unknown_stays_unknown() -> None:
    shape = Mismatch(code="shape_mismatch", where="out", message="(1,) and (2,)")
    unknown = wrong_trial(1, mismatches=(shape,), max_abs_error=None, mismatched_elements=None, deterministic=None)
    log = filled([msgspec.structs.replace(unknown, vacuous_controls=("input",)), *map(wrong_trial, range(2, 9))], 3)
    assert log.left_out is not None
    assert log.left_out.vacuous_controls == ()
    log = filled([wrong_trial(0), unknown, *map(wrong_trial, range(2, 9))], 3)
    assert log.left_out is not None
    assert (log.left_out.max_abs_error, log.left_out.mismatched_elements, log.left_out.deterministic) == (None,) * 3
