"""What timed calls returned: was it right, for which values, and what else did they do?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kprof.blocks.integrity.check import NOT_LOOKED, Check, fail, named, unknown
from kprof.blocks.integrity.times import device_us
from kprof.capture import Capture
from kprof.evidence import Reason
from kprof.integrity_evidence import VALUES, IntegrityEvidence, TimedCall, Values
from kprof.precision_evidence import INCONCLUSIVE_CODES

EVENTS_MISS: Final = 0.5
"""Events that see less than this share of the device's work see only part of it."""
MISSED_US: Final = 2.0
"""And by no less than this: events and CUPTI differ by about a microsecond on short calls."""
TAIL_US: Final = 20.0
"""A device-wide wait after the last event takes a few microseconds when nothing is left to wait for."""


def result_checks(capture: Capture, evidence: IntegrityEvidence) -> Iterator[Check]:
    """The checks of what calls return and write."""
    yield from (_wrong(capture, evidence, values) for values in VALUES)
    yield _wrong_when_profiled(capture)
    yield _mutated(evidence)
    yield _after_window(capture, evidence)
    yield _lazy(evidence)


_WRONG_ANYWAY: Final = Reason(
    code="wrong_anyway", message="the first result of all was wrong already: see the block precision"
)
_WHAT: Final[dict[Values, str]] = {
    "repeated": "the usual values",
    "refilled": "values never seen, written where the usual ones were",
    "moved": "values never seen, in memory never seen",
    "swapped": "the usual values with elements exchanged, so that pointer, shape, first, last and sum stay",
}


def _wrong(capture: Capture, evidence: IntegrityEvidence, values: Values) -> Check:
    """The result of a timed call is not the reference's for the values that this call was given."""
    name = f"wrong_on_{values}"
    judged = [call for call in evidence.calls if call.values == values and call.judged]
    if not judged:
        absent = evidence.absent
        reason = absent.get(values) or absent.get("judged") or absent.get("calls") or NOT_LOOKED
        return unknown(name, reason)
    wrong = [call for call in judged if call.mismatches]
    if wrong and _wrong_from_the_start(capture):
        return unknown(name, _WRONG_ANYWAY)
    if not wrong:
        return Check(name=name, severity="fail", passed=True, detail=f"{len(judged)} timed calls with {_WHAT[values]}")
    first = wrong[0].mismatches[0]
    what = f"{len(wrong)} of {len(judged)} timed calls with {_WHAT[values]} gave a wrong result: {first.message}"
    return fail(name, what)


_NOT_PROFILED: Final = {
    False: "the kernel did not run under the profiler (block launches)",
    True: "no result was compared under the profiler: inputs are too large, calls too long, or there is no reference",
}
"""By whether it ran there."""


def _wrong_when_profiled(capture: Capture) -> Check:
    """The profiler's process, from which short kernels have their device times, is not given the work."""
    name, launches = "wrong_when_profiled", capture.launches
    found = launches.output_mismatches if launches is not None else None
    if launches is None or found is None:
        return unknown(name, Reason(code="not_profiled", message=_NOT_PROFILED[launches is not None]))
    if found and _wrong_from_the_start(capture):
        return unknown(name, _WRONG_ANYWAY)
    if not found and launches.kernel is not None and capture.environment.device.startswith("cuda"):
        theirs = launches.ref.launches if launches.ref is not None else ()
        if not launches.kernel.launches and theirs and launches.kernel.absent is None:
            return fail(name, "the call launches nothing on the device, where the reference's does")
    return fail(name, f"a result under the profiler is wrong: {found[0].message}" if found else None)


def _wrong_from_the_start(capture: Capture) -> bool:
    """The very first call of the kernel gave a wrong result: it is wrong, and nothing shows that it cheats."""
    trials = capture.precision.trials if capture.precision is not None else ()
    if not trials:
        return False
    codes = {mismatch.code for mismatch in trials[0].mismatches} - INCONCLUSIVE_CODES
    return bool(codes) and "second_call_differs" not in codes


def _over_calls(
    name: str, evidence: IntegrityEvidence, found: Callable[[TimedCall], Sequence[str]], what: str
) -> Check:
    if not evidence.calls:
        return unknown(name, evidence.absent.get("calls") or NOT_LOOKED)
    paths = list(dict.fromkeys(path for call in evidence.calls for path in found(call)))
    return fail(name, what.format(named(paths)) if paths else None)


def _mutated(evidence: IntegrityEvidence) -> Check:
    allowed = set(evidence.ref_changed_inputs)
    return _over_calls(
        "input_mutated",
        evidence,
        lambda call: [path for path in call.changed_inputs if path not in allowed],
        "timed calls overwrite inputs that the reference leaves alone: {}",
    )


def _lazy(evidence: IntegrityEvidence) -> Check:
    what = "outputs that are no plain tensors when the window closes, and may compute later: {}"
    return _over_calls("lazy_output", evidence, lambda call: call.unready, what)


def _after_window(capture: Capture, evidence: IntegrityEvidence) -> Check:
    """Work goes on when the timed window has closed: outputs still change, or the device is busy after the event."""
    name = "work_after_window"
    what = "outputs are still written to after the timed window has closed: {}"
    check = _over_calls(name, evidence, lambda call: call.written_later, what)
    if check.passed is False:
        return check
    event = device_us(capture, "event")
    tail = evidence.tail
    if tail is not None and tail.kernel_us > (tail.ref_us or 0.0) + max(TAIL_US, EVENTS_MISS * (event or 0.0)):
        return fail(name, f"the device works on for {tail.kernel_us:.4g} us after the event behind the call has come")
    span = device_us(capture, "cupti")
    if event is not None and span is not None and event < EVENTS_MISS * span and span - event > MISSED_US:
        told = f"events behind the call see {event:.4g} us of it, all streams together {span:.4g} us"
        return fail(name, f"work on other streams is not waited for: {told}")
    return check
