"""From comparisons to the evidence of trials, and a bound on how much of it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from kprof.collectors.precision.comparison import Comparison
from kprof.evidence import Reason
from kprof.precision_evidence import INCONCLUSIVE_CODES, Mismatch, PrecisionTrial

MOST_KEPT: Final = 200
"""Trials kept in full: some 100 kB of evidence, whatever was asked for."""


def record_trial(
    seed: int,
    shapes: tuple[tuple[int, ...], ...],
    first: Comparison,
    second: Comparison,
    deterministic: bool | None,
    notes: tuple[Reason, ...],
) -> PrecisionTrial:
    """One trial's record: numbers of the first call, or of the second where only that one is wrong."""
    shown, mismatches = first, first.mismatches
    late = _wrong(second) if not _wrong(first) else None
    if late:
        shown = second
        message = f"the first call agreed, the second does not: {late[0].code}: {late[0].message}"
        differs = Mismatch(code="second_call_differs", where=late[0].where, message=message)
        mismatches = (differs, *second.mismatches)
    return PrecisionTrial(
        seed=seed,
        shapes=shapes,
        mismatches=mismatches,
        tolerances=shown.tolerances,
        elements=shown.elements,
        mismatched_elements=shown.mismatched_elements,
        max_abs_error=shown.max_abs_error,
        mean_abs_error=shown.mean_abs_error,
        max_rel_error=shown.max_rel_error,
        mean_rel_error=shown.mean_rel_error,
        worst_over_tolerance=shown.worst_over_tolerance,
        worst_output=shown.worst_output,
        worst_index=shown.worst_index,
        worst_kernel_value=shown.worst_kernel_value,
        worst_ref_value=shown.worst_ref_value,
        deterministic=deterministic,
        nonfinite_elements=shown.nonfinite_elements,
        vacuous_controls=shown.vacuous_controls,
        notes=(*notes, *shown.notes),
    )


def _wrong(comparison: Comparison) -> list[Mismatch]:
    return [one for one in comparison.mismatches if one.code not in INCONCLUSIVE_CODES]


class TrialLog:
    """Trials as they come: all of them while they are few, else the failing ones before the others.

    Of those that agree every second, then every fourth and so on goes, later of the failing ones too. The worst trial
    stays, and what goes is added up in ``left_out``.

    Args:
        most: trials kept in full.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self.run = self.agreed = 0
        self.left_out: PrecisionTrial | None = None
        self._most = most
        self._kept: dict[int, PrecisionTrial] = {}
        self._steps = {True: 1, False: 1}
        """Of trials that agree, and of those that do not: those at multiples of it are kept."""
        self._worst = -1

    @property
    def kept(self) -> tuple[PrecisionTrial, ...]:
        """In the order they ran."""
        return tuple(self._kept.values())

    def add(self, trial: PrecisionTrial) -> None:
        """Take in the next trial."""
        self._kept[self.run] = trial
        if self._worst < 0 or _badness(trial) > _badness(self._kept[self._worst]):
            self._worst = self.run
        self.run += 1
        self.agreed += not trial.mismatches
        self._drop()
        while len(self._kept) > self._most:
            self._steps[self._agreeing() > 1] *= 2
            self._drop()

    def _agreeing(self) -> int:
        return sum(not trial.mismatches for trial in self._kept.values())

    def _drop(self) -> None:
        for index, trial in list(self._kept.items()):
            if index % self._steps[not trial.mismatches] and index != self._worst:
                del self._kept[index]
                self.left_out = merged(self.left_out, trial)


def _badness(trial: PrecisionTrial) -> tuple[bool, float]:
    over = trial.worst_over_tolerance
    return bool(trial.mismatches), over if over is not None else -1.0


def merged(total: PrecisionTrial | None, trial: PrecisionTrial) -> PrecisionTrial:
    """What is kept of a trial that is left out, added to those before it: everything but its element and tolerances."""
    lean = msgspec.structs.replace(
        trial,
        shapes=(),
        tolerances=(),
        worst_over_tolerance=None,
        worst_output=None,
        worst_index=None,
        worst_kernel_value=None,
        worst_ref_value=None,
        vacuous_controls=() if trial.mismatches else trial.vacuous_controls,
    )
    if total is None:
        return lean
    both, weights = (total, lean), (total.elements, lean.elements)
    return msgspec.structs.replace(
        total,
        elements=sum(weights),
        mismatched_elements=_sum(total.mismatched_elements, lean.mismatched_elements),
        max_abs_error=_max(total.max_abs_error, lean.max_abs_error),
        mean_abs_error=_mean([one.mean_abs_error for one in both], weights),
        max_rel_error=_max(total.max_rel_error, lean.max_rel_error),
        mean_rel_error=_mean([one.mean_rel_error for one in both], weights),
        deterministic=_all([one.deterministic for one in both]),
        nonfinite_elements=total.nonfinite_elements + lean.nonfinite_elements,
        vacuous_controls=tuple(dict.fromkeys((*total.vacuous_controls, *lean.vacuous_controls))),
        mismatches=tuple({(m.code, m.where): m for m in (*lean.mismatches, *total.mismatches)}.values()),
        notes=tuple({note.code: note for note in (*lean.notes, *total.notes)}.values()),
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _max(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)


def _mean(values: Sequence[float | None], weights: Sequence[int]) -> float | None:
    known = [value for value in values if value is not None]
    total = sum(weights)
    if len(known) < len(values) or not total:
        return None
    # Each share first: a product with the count could overflow where the mean itself does not.
    return sum(value * (weight / total) for value, weight in zip(known, weights, strict=True))


def _all(values: Sequence[bool | None]) -> bool | None:
    if any(value is False for value in values):
        return False
    return True if all(values) else None
