"""The precision trials: kernel, reference, kernel again, on clones of the same fresh inputs.

What was measured is handed out on the way, so that it outlives a crash in a later trial.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from kprof.collectors.precision.bench import Bench
from kprof.collectors.precision.bench import SideError as SideError
from kprof.collectors.precision.comparison import VALUE_CODES
from kprof.collectors.precision.records import TrialLog
from kprof.collectors.precision.weights import equalise_weights, has_weights
from kprof.evidence import Side
from kprof.precision_evidence import PrecisionEvidence
from kprof.workload import LoadedWorkload, WorkloadError

_FIRST_ONES: Final = 10
"""Trials handed out one by one ..."""
_GROWTH: Final = 1.5
"""... and then whenever there are half as many again,"""
_PAUSE_S: Final = 2.0
"""or this long after the last time: each hand-out carries all that is kept."""


def collect_precision(
    workload: LoadedWorkload,
    *,
    trials: int,
    seed: int,
    enter: Callable[[Side | None], None],
    allow_nonfinite: bool = False,
    chunk_elements: int | None = None,
) -> Iterator[PrecisionEvidence]:
    """Compare the kernel with the reference on fresh inputs; trial ``i`` has the seed ``seed + i``.

    The models' weights are compared as constructed first. Where the first trial's values differ and the weights do
    too, the reference's are copied and the trial is run again; where they cannot be, trials end.

    Args:
        workload: both sides, constructed and on the device.
        trials: how many.
        seed: of the first.
        enter: told whose code runs next; None: kprof's own.
        allow_nonfinite: NaN and infinity at equal places are notes, not mismatches.
        chunk_elements: elements compared at once; None: what suits the device.

    Yields:
        The evidence so far, which replaces what was yielded before: after each of the first trials and the first that
        fails, at growing intervals after that, and at the end or before an error.

    Raises:
        SideError: a side raised, or left the device with a fault.
        WorkloadError: the inputs could not be made.
        ValueError: there is no reference.
    """
    if workload.ref is None:
        raise ValueError("precision needs a reference")
    bench = Bench(workload, enter, allow_nonfinite, chunk_elements)
    weighted = has_weights(workload.kernel) or has_weights(workload.ref)
    evidence = PrecisionEvidence(trials_requested=trials, weights="as_constructed" if weighted else "none")
    log = TrialLog()
    if trials > 0:
        trial, fp64 = bench.first_trial(seed)
        if weighted and any(one.code in VALUE_CODES for one in trial.mismatches):
            outcome = equalise_weights(workload.kernel, workload.ref)
            evidence = msgspec.structs.replace(evidence, weights=outcome.how, warnings=outcome.warnings)
            if outcome.how in ("copied_by_name", "copied_by_shape"):
                bench.remember_buffers()
                trial, fp64 = bench.first_trial(seed)
        log.add(trial)
        evidence = msgspec.structs.replace(
            evidence,
            kernel_error_vs_fp64=fp64.kernel,
            ref_error_vs_fp64=fp64.ref,
            fp64_reason=fp64.reason,
            warnings=(*evidence.warnings, *bench.warnings),
        )
    yield _evidence(evidence, log, bench)
    if evidence.weights == "not_comparable":
        return
    yield from _later_trials(evidence, log, bench, [seed + index for index in range(1, trials)])


def _later_trials(
    evidence: PrecisionEvidence, log: TrialLog, bench: Bench, seeds: list[int]
) -> Iterator[PrecisionEvidence]:
    handed_out, at = log.run, time.monotonic()
    try:
        for seed in seeds:
            failed = log.run - log.agreed
            log.add(bench.trial(seed))
            first_failure = not failed and log.agreed < log.run
            due = log.run <= _FIRST_ONES or log.run >= _GROWTH * handed_out or time.monotonic() - at >= _PAUSE_S
            if due or first_failure:
                yield _evidence(evidence, log, bench)
                handed_out, at = log.run, time.monotonic()
    except (SideError, WorkloadError):
        if log.run > handed_out:
            yield _evidence(evidence, log, bench)
        raise
    if log.run > handed_out:
        yield _evidence(evidence, log, bench)


def _evidence(evidence: PrecisionEvidence, log: TrialLog, bench: Bench) -> PrecisionEvidence:
    """What is known so far."""
    return msgspec.structs.replace(
        evidence,
        trials=log.kept,
        trials_run=log.run,
        trials_agreed=log.agreed,
        left_out=log.left_out,
        poisoned=bench.poisoned,
        warnings=(*evidence.warnings, *bench.replaced_torch()),
    )
