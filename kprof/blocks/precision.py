"""The block ``precision``: is the result right, by how much is it off, and would a trivial answer have passed too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kprof.blocks.base import Absence, absent_block, fault_reason, finish, not_requested, stage_absence
from kprof.blocks.precision_records import OutputTolerance, PrecisionBlock
from kprof.capture import Capture
from kprof.evidence import Reason
from kprof.precision_evidence import INCONCLUSIVE_CODES, Mismatch, PrecisionEvidence, PrecisionTrial, Tolerance

SOURCE: Final = "eager reference on the same inputs; an fp64 run of it as yardstick"
_STAY_FINITE: Final = (
    "Choose inputs for which the reference stays finite, or let such values pass with --allow-nonfinite."
)
_HINTS: Final = {
    "nan_equals_nan": _STAY_FINITE,
    "inf_equals_inf": _STAY_FINITE,
    "both_empty": "Choose inputs for which the result has elements.",
    "nothing_to_compare": "Return the result, also where it is written in place.",
    "unsupported_output": "Return tensors and numbers, or tuples, lists, dicts and dataclasses of them.",
}
"""What to do about each of `INCONCLUSIVE_CODES`."""
CONTRADICTORY: Final = "contradictory_evidence"
_NO_REFERENCE: Final = Reason(
    code="no_reference", message="no reference was given, so there is nothing to compare with", hint="Add --ref ref.py."
)


def precision_block(capture: Capture) -> PrecisionBlock:
    """The block ``precision`` of a capture."""
    skipped = not_requested(capture, "precision")
    if skipped is None and not capture.has_reference:
        skipped = Absence(status="skipped", reason=_NO_REFERENCE)
    if skipped is not None:
        return absent_block(PrecisionBlock, skipped, SOURCE)
    evidence = capture.precision
    if evidence is None or not evidence.trials:
        return absent_block(PrecisionBlock, stage_absence(capture, "precision"), SOURCE)
    return _from_trials(capture, evidence)


def _from_trials(capture: Capture, evidence: PrecisionEvidence) -> PrecisionBlock:
    trials = _all_trials(evidence)
    worst = max(evidence.trials, key=_badness)
    tolerance = _worst_tolerance(worst)
    agreed, controls = _agreed(evidence), _controls(evidence)
    passed, absence = _verdict(capture, evidence, vacuous=bool(controls))
    block = PrecisionBlock(
        status=absence.status if absence else "ok",
        reason=absence.reason if absence else None,
        source=SOURCE,
        warnings=_warnings(evidence),
        passed=passed,
        trials=_ran(evidence),
        trials_requested=evidence.trials_requested,
        trials_passed=agreed,
        max_abs_error=_largest([trial.max_abs_error for trial in trials]),
        mean_abs_error=_weighted([(trial.mean_abs_error, trial.elements) for trial in trials]),
        max_rel_error=_largest([trial.max_rel_error for trial in trials]),
        mean_rel_error=_weighted([(trial.mean_rel_error, trial.elements) for trial in trials]),
        atol=tolerance.atol if tolerance else None,
        rtol=tolerance.rtol if tolerance else None,
        mismatched_elements=_total([trial.mismatched_elements for trial in trials]),
        elements=sum(trial.elements for trial in trials),
        worst_output=worst.worst_output,
        worst_index=worst.worst_index,
        worst_seed=worst.seed if worst.worst_index is not None else None,
        worst_kernel_value=worst.worst_kernel_value,
        worst_ref_value=worst.worst_ref_value,
        kernel_error_vs_fp64=evidence.kernel_error_vs_fp64,
        ref_error_vs_fp64=evidence.ref_error_vs_fp64,
        vacuous=bool(controls) if agreed else None,
        vacuous_controls=controls,
        deterministic=_deterministic(trials),
        weights=evidence.weights,
        poisoned=evidence.poisoned,
        mismatches=_each_once([mismatch for trial in trials for mismatch in trial.mismatches]),
        tolerances=tuple(_output_tolerance(one) for one in worst.tolerances),
        notes=tuple(dict.fromkeys(note for trial in trials for note in trial.notes)),
    )
    return finish(block, lambda path: _why_null(capture, evidence, path))


def _all_trials(evidence: PrecisionEvidence) -> tuple[PrecisionTrial, ...]:
    """Every trial, those that the evidence keeps no more as one."""
    return evidence.trials if evidence.left_out is None else (*evidence.trials, evidence.left_out)


def _ran(evidence: PrecisionEvidence) -> int:
    return len(evidence.trials) if evidence.trials_run is None else evidence.trials_run


def _agreed(evidence: PrecisionEvidence) -> int:
    if evidence.trials_agreed is not None:
        return evidence.trials_agreed
    return sum(not trial.mismatches for trial in evidence.trials)


def _controls(evidence: PrecisionEvidence) -> tuple[str, ...]:
    """Trivial answers that pass in a trial that agrees."""
    found = [control for trial in evidence.trials if not trial.mismatches for control in trial.vacuous_controls]
    if evidence.left_out is not None:
        found += evidence.left_out.vacuous_controls
    return tuple(dict.fromkeys(found))


def _verdict(capture: Capture, evidence: PrecisionEvidence, *, vacuous: bool) -> tuple[bool | None, Absence | None]:
    """``passed``, and the status and reason where they are not plainly ok."""
    mismatches = [mismatch for trial in _all_trials(evidence) for mismatch in trial.mismatches]
    unlike = [mismatch for mismatch in mismatches if mismatch.code not in INCONCLUSIVE_CODES]
    fault = capture.fault("precision")
    if fault is not None:
        # A mismatch before the fault is a wrong result all the same; trials that agreed prove nothing about the rest.
        comparable = evidence.weights != "not_comparable"
        return False if unlike and comparable else None, Absence(status="failed", reason=fault_reason(fault))
    if evidence.weights == "not_comparable":
        message = "the kernel's parameters could not be made equal to the reference's, so the results need not agree"
        hint = "Name or shape the kernel's parameters like the reference's."
        return None, _suspect(Reason(code="weights_not_comparable", message=message, hint=hint))
    if unlike:
        return False, None
    contradiction = _contradiction(evidence)
    if contradiction is not None:
        hint = "Measure again: a run of kprof writes no such record."
        return None, _suspect(Reason(code=CONTRADICTORY, message=contradiction, hint=hint))
    if mismatches:
        first = mismatches[0]
        message = f"{first.where}: {first.message}"
        return None, _suspect(Reason(code=first.code, message=message, hint=_HINTS[first.code]))
    if vacuous:
        message = "a trivial answer passes against this reference too, so agreement proves little"
        hint = "Choose inputs or parameters for which the reference's result varies."
        return True, _suspect(Reason(code="vacuous", message=message, hint=hint))
    return True, None


def _contradiction(evidence: PrecisionEvidence) -> str | None:
    """What cannot be true of trials that are said to agree; None: nothing."""
    ran, agreed = _ran(evidence), _agreed(evidence)
    if ran <= 0 or not 0 <= agreed <= ran:
        return f"{agreed} trials agreed, of {ran} that ran to their end"
    for trial in _all_trials(evidence):
        mismatched = trial.mismatched_elements or 0
        if not 0 <= mismatched <= trial.elements:
            return f"{mismatched:,} elements are out of tolerance, of {trial.elements:,} that were compared"
        if mismatched and not trial.mismatches:
            return f"{mismatched:,} elements are out of tolerance in trials that are said to agree"
    return None


def _suspect(reason: Reason) -> Absence:
    return Absence(status="suspect", reason=reason)


def _warnings(evidence: PrecisionEvidence) -> tuple[Reason, ...]:
    ran, requested = _ran(evidence), evidence.trials_requested
    if ran >= requested or evidence.weights == "not_comparable":
        return evidence.warnings
    fewer = Reason(code="fewer_trials", message=f"{ran} of {requested} trials ran to their end")
    return (*evidence.warnings, fewer)


def _badness(trial: PrecisionTrial) -> tuple[bool, float]:
    # Captures of older versions know the relative error only.
    known = (trial.worst_over_tolerance, trial.max_rel_error)
    return bool(trial.mismatches), next((value for value in known if value is not None), -1.0)


def _worst_tolerance(trial: PrecisionTrial) -> Tolerance | None:
    of_worst = (one for one in trial.tolerances if one.where == trial.worst_output)
    return next(of_worst, trial.tolerances[0] if trial.tolerances else None)


def _output_tolerance(one: Tolerance) -> OutputTolerance:
    return OutputTolerance(where=one.where, dtype=one.dtype, atol=one.atol, rtol=one.rtol, scale=one.scale)


def _each_once(mismatches: Sequence[Mismatch]) -> tuple[Mismatch, ...]:
    """The first mismatch of each kind at each place: messages differ from trial to trial."""
    first: dict[tuple[str, str], Mismatch] = {}
    for mismatch in mismatches:
        first.setdefault((mismatch.code, mismatch.where), mismatch)
    return tuple(first.values())


def _known(values: Sequence[float | None]) -> list[float] | None:
    """All values, or None when one is missing: what is unknown in one trial is unknown over all."""
    known = [value for value in values if value is not None]
    return known if known and len(known) == len(values) else None


def _largest(values: Sequence[float | None]) -> float | None:
    known = _known(values)
    return max(known) if known else None


def _total(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _weighted(pairs: Sequence[tuple[float | None, int]]) -> float | None:
    known = _known([value for value, _ in pairs])
    weight = sum(elements for _, elements in pairs)
    if known is None or weight == 0:
        return None
    # Each share first: a product with the count could overflow where the mean itself does not.
    return sum(value * (elements / weight) for value, (_, elements) in zip(known, pairs, strict=True))


def _deterministic(trials: Sequence[PrecisionTrial]) -> bool | None:
    if any(trial.deterministic is False for trial in trials):
        return False
    return True if all(trial.deterministic for trial in trials) else None


def _why_null(capture: Capture, evidence: PrecisionEvidence, path: str) -> str:
    fault = capture.fault("precision")
    mismatches = [mismatch.code for trial in _all_trials(evidence) for mismatch in trial.mismatches]
    if path == "passed":
        unequal = "weights_not_comparable" if evidence.weights == "not_comparable" else None
        return fault.code if fault else (unequal or (CONTRADICTORY if _contradiction(evidence) else mismatches[0]))
    if path.endswith("_vs_fp64"):
        return evidence.fp64_reason.code if evidence.fp64_reason else (fault.code if fault else "not_collected")
    fixed = {"vacuous": "no_passing_trial", "poisoned": "not_poisoned", "weights": "not_collected"}
    if path in fixed:
        return fixed[path]
    if path == "deterministic":
        return fault.code if fault else "not_checked"
    return mismatches[0] if mismatches else "no_compared_elements"
