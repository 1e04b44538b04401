"""The block precision: the verdict, and the numbers behind it."""

from __future__ import annotations

import math
from typing import Any

import captures
import msgspec
import pytest
from captures import h200_tiny
from made_evidence import precision, trial, wrong_trial

from kprof.blocks.precision import precision_block
from kprof.blocks.precision_records import PrecisionBlock
from kprof.evidence import Reason
from kprof.precision_evidence import Mismatch, PrecisionEvidence, Tolerance


def block_of(evidence: PrecisionEvidence) -> PrecisionBlock:
    return precision_block(h200_tiny(precision=evidence))


def code(block: PrecisionBlock) -> str | None:
    return block.reason.code if block.reason else None


def test_five_trials_that_agree() -> None:
    block = block_of(precision())
    assert (block.status, block.passed, code(block)) == ("ok", True, None)
    assert (block.trials, block.trials_requested, block.trials_passed) == (5, 5, 5)
    assert (block.max_abs_error, block.max_rel_error) == (4.77e-7, 2e-7)
    assert (block.atol, block.rtol) == (1.2e-5, 1e-5)
    assert (block.mismatched_elements, block.vacuous, block.deterministic) == (0, False, True)
    assert (block.kernel_error_vs_fp64, block.ref_error_vs_fp64) == (3e-7, 2e-7)
    assert (block.weights, block.poisoned) == ("none", "allocator")
    assert block.tolerances[0].scale == 2.1
    assert block.reasons == {}


def test_one_wrong_trial_of_three_fails_and_the_worst_one_is_shown() -> None:
    worst = wrong_trial(3, max_rel_error=0.3, max_abs_error=0.4, worst_index=(1, 1), worst_kernel_value=9.0)
    block = block_of(precision(wrong_trial(1), trial(2), worst))
    assert (block.status, block.passed) == ("ok", False)
    assert (block.trials, block.trials_passed) == (3, 1)
    assert block.mismatched_elements == 24
    assert (block.max_abs_error, block.max_rel_error) == (0.5, 0.3)
    # Of three trials with 320 elements each.
    assert block.mean_abs_error == pytest.approx((0.01 + 1e-7 + 0.01) / 3)
    assert (block.worst_index, block.worst_kernel_value) == ((1, 1), 9.0)
    # Told once, although two trials found it.
    assert [mismatch.code for mismatch in block.mismatches] == ["values"]


def test_a_wrong_trial_is_worse_than_a_right_one_with_a_larger_error() -> None:
    block = block_of(precision(trial(1, max_rel_error=9.0, worst_index=(0, 0)), wrong_trial(2)))
    assert block.worst_index == (3, 7)
    assert block.max_rel_error == 9.0


def test_the_worst_trial_is_the_one_furthest_over_its_tolerance_and_names_its_seed() -> None:
    nearer = wrong_trial(1, max_rel_error=9.0, worst_over_tolerance=3.0, worst_index=(0, 0))
    block = block_of(precision(nearer, wrong_trial(2, worst_over_tolerance=4.0), trial(3)))
    assert (block.worst_index, block.worst_seed) == ((3, 7), 2)
    assert (block.elements, block.mismatched_elements) == (960, 24)
    nowhere = block_of(precision(trial(1, worst_index=None)))
    assert nowhere.worst_seed is None
    assert nowhere.reasons["worst_seed"] == "no_compared_elements"


def test_trials_that_were_left_out_count() -> None:
    rest = trial(9, elements=3200, mean_abs_error=2e-7, max_abs_error=1.0, worst_index=None, deterministic=False)
    block = block_of(
        precision(trial(1), trial(2), trials_requested=12, trials_run=12, trials_agreed=12, left_out=rest),
    )
    assert (block.status, block.passed, block.warnings) == ("ok", True, ())
    assert (block.trials, block.trials_passed, block.elements) == (12, 12, 3840)
    assert (block.max_abs_error, block.deterministic, block.worst_seed) == (1.0, False, 1)
    assert block.mean_abs_error == pytest.approx((640 * 1e-7 + 3200 * 2e-7) / 3840)


def test_a_mismatch_or_a_trivial_answer_among_those_left_out_counts() -> None:
    told = {"trials_requested": 5, "trials_run": 5}
    block = block_of(precision(trial(1), trials_agreed=3, left_out=wrong_trial(2), **told))
    assert (block.passed, block.trials_passed, block.mismatched_elements) == (False, 3, 12)
    block = block_of(precision(trial(1), trials_agreed=5, left_out=trial(2, vacuous_controls=("zeros",)), **told))
    assert (block.passed, block.vacuous_controls) == (True, ("zeros",))


def test_means_are_weighted_by_elements() -> None:
    block = block_of(precision(trial(1, elements=100, mean_abs_error=1.0), trial(2, elements=300, mean_abs_error=2.0)))
    assert block.mean_abs_error == pytest.approx(1.75)
    huge = block_of(precision(trial(1, mean_abs_error=1e308), trial(2, mean_abs_error=1e308)))
    assert huge.mean_abs_error == pytest.approx(1e308)


def test_tolerances_are_those_of_the_worst_output() -> None:
    tolerances = (
        Tolerance(where="out[0]", dtype="float32", atol=1e-5, rtol=1e-5, scale=1.0),
        Tolerance(where="out[1]", dtype="float16", atol=1e-2, rtol=1e-3, scale=4.0),
    )
    block = block_of(precision(trial(1, tolerances=tolerances, worst_output="out[1]")))
    assert (block.atol, block.rtol) == (1e-2, 1e-3)
    assert [one.where for one in block.tolerances] == ["out[0]", "out[1]"]


def test_a_shape_that_differs_leaves_no_errors_to_tell() -> None:
    shape = Mismatch(code="shape", where="out", message="(10,) where the reference has (10, 32)")
    nothing = dict.fromkeys(("max_abs_error", "mean_abs_error", "max_rel_error", "mean_rel_error"))
    block = block_of(precision(trial(1, mismatches=(shape,), mismatched_elements=None, **nothing), trial(2)))
    assert block.passed is False
    assert block.max_abs_error is None
    assert block.mismatched_elements is None
    assert block.reasons["max_abs_error"] == block.reasons["mismatched_elements"] == "shape"


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("nan_equals_nan", "--allow-nonfinite"),
        ("inf_equals_inf", "--allow-nonfinite"),
        ("both_empty", "has elements"),
        ("nothing_to_compare", "Return the result"),
        ("unsupported_output", "dataclasses"),
    ],
)
def test_what_shows_nothing_is_neither_right_nor_wrong(kind: str, advice: str) -> None:
    equal = Mismatch(code=kind, where="out", message="at the same places")
    block = block_of(precision(trial(1, mismatches=(equal,)), trial(2)))
    assert (block.status, block.passed, code(block)) == ("suspect", None, kind)
    assert block.reasons["passed"] == kind
    assert block.trials_passed == 1
    assert block.reason is not None
    assert advice in block.reason.hint


def test_a_real_mismatch_beside_equal_nans_is_wrong() -> None:
    equal = Mismatch(code="nan_equals_nan", where="out[0]", message="at the same places")
    block = block_of(precision(trial(1, mismatches=(equal,)), wrong_trial(2)))
    assert (block.status, block.passed) == ("ok", False)


def test_a_trivial_answer_that_would_pass_makes_it_vacuous() -> None:
    block = block_of(precision(trial(1), trial(2, vacuous_controls=("zeros", "constant"))))
    assert (block.status, block.passed, code(block)) == ("suspect", True, "vacuous")
    assert block.vacuous is True
    assert block.vacuous_controls == ("zeros", "constant")


def test_a_wrong_kernel_is_never_vacuous() -> None:
    block = block_of(precision(wrong_trial(1, vacuous_controls=("zeros",))))
    assert (block.status, block.passed) == ("ok", False)
    assert block.vacuous is None
    assert block.reasons["vacuous"] == "no_passing_trial"


def test_weights_that_cannot_be_compared_say_nothing_about_the_kernel() -> None:
    block = block_of(precision(wrong_trial(1), weights="not_comparable"))
    assert (block.status, block.passed, code(block)) == ("suspect", None, "weights_not_comparable")
    assert block.reasons["passed"] == "weights_not_comparable"


def test_fewer_trials_than_asked_for_is_said() -> None:
    block = block_of(precision(trial(1), trial(2), trials_requested=5))
    assert [warning.code for warning in block.warnings] == ["fewer_trials"]
    assert block.warnings[0].message == "2 of 5 trials ran to their end"


def test_a_crash_keeps_the_trials_before_it_and_gives_no_verdict() -> None:
    block = precision_block(captures.precision_crash())
    assert (block.status, block.passed, code(block)) == ("failed", None, "crashed")
    assert block.reason is not None
    assert block.reason.message == "kernel: the worker ended by SIGSEGV"
    assert (block.trials, block.trials_requested) == (2, 5)
    assert block.max_abs_error == 4.77e-7
    assert block.reasons["passed"] == "crashed"


def test_a_mismatch_before_the_crash_is_wrong_all_the_same() -> None:
    capture = msgspec.structs.replace(
        captures.precision_crash(), precision=precision(wrong_trial(1), trials_requested=5)
    )
    block = precision_block(capture)
    assert (block.status, block.passed) == ("failed", False)


def test_a_reference_that_fails_is_the_references_fault() -> None:
    block = precision_block(captures.ref_failure())
    assert (block.status, block.passed, code(block)) == ("failed", None, "raised")
    assert block.reason is not None
    assert block.reason.message == "reference: RuntimeError: no such op"
    assert set(block.reasons.values()) == {"raised"}


def test_without_a_reference_it_is_skipped() -> None:
    block = precision_block(captures.without_ref(h200_tiny()))
    assert (block.status, block.passed, code(block)) == ("skipped", None, "no_reference")
    assert block.reasons["passed"] == "no_reference"


def test_an_error_that_is_not_finite_is_null_and_says_so() -> None:
    block = block_of(precision(trial(1, max_abs_error=math.inf, worst_kernel_value=math.nan)))
    assert (block.max_abs_error, block.worst_kernel_value) == (None, None)
    assert block.reasons == {"max_abs_error": "not_finite", "worst_kernel_value": "not_finite"}


def test_no_fp64_yardstick_says_why() -> None:
    why = Reason(code="fp64_unsupported", message="the reference does not run in fp64")
    block = block_of(precision(kernel_error_vs_fp64=None, ref_error_vs_fp64=None, fp64_reason=why))
    assert block.reasons == {
        "kernel_error_vs_fp64": "fp64_unsupported",
        "ref_error_vs_fp64": "fp64_unsupported",
    }


@pytest.mark.parametrize(
    ("seen", "told"), [((True, True), True), ((True, False), False), ((True, None), None), ((False, None), False)]
)
def test_deterministic_only_when_every_trial_was(seen: tuple[bool | None, ...], told: bool | None) -> None:
    block = block_of(precision(*(trial(seed, deterministic=one) for seed, one in enumerate(seen))))
    assert block.deterministic is told
    assert block.reasons.get("deterministic") == ("not_checked" if told is None else None)


@pytest.mark.parametrize(
    "changes",
    [
        {"trials_run": 0, "trials_agreed": 5},
        {"trials_run": 0, "trials_agreed": 0},
        {"trials_run": 5, "trials_agreed": 500},
        {"trials_run": 5, "trials_agreed": -1},
        {"trials": (trial(1, mismatched_elements=7),)},
        {"trials": (trial(1, mismatched_elements=-1),)},
        {"trials": (trial(1, elements=-1),)},
    ],
)
def test_trials_that_contradict_themselves_pass_nothing(changes: dict[str, Any]) -> None:
    block = block_of(msgspec.structs.replace(precision(), **changes))
    assert (block.status, block.passed, code(block)) == ("suspect", None, "contradictory_evidence")
    assert block.reasons["passed"] == "contradictory_evidence"
