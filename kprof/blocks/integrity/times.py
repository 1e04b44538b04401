"""How long looked-at calls took: a kernel that saves its work for values it knows, or for calls nobody looks at."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from kprof.blocks.integrity.check import NOT_LOOKED, Check, fail, unknown
from kprof.blocks.timing.cautions import is_contended
from kprof.blocks.timing.device_time import all_series
from kprof.capture import Capture
from kprof.evidence import Reason, Record, Series
from kprof.integrity_evidence import NEVER_SEEN, IntegrityEvidence, TimedCall, Values
from kprof.statistics import median


class CacheGap(Record, frozen=True, kw_only=True):
    """From when on values seen before are too fast beside values never seen.

    Both are written anew before each call, so that caches are alike. The lower quartile of the new is held against the
    upper quartile of the usual: neither a few slow calls nor a few fast ones can make a gap. Or, of many, the fastest
    of the new against the median of the usual: other work only ever makes calls slower. Of like calls this would hold
    once in some hundred runs at worst, and only where half of them take ``ratio`` times as long as the other half.

    Few samples are held against the other timed calls too. With few, or where other work took the processors, every new
    one must be slower than every usual one. With both, chance alone can do that (once in ten for two and three
    samples), and nobody can say.
    """

    ratio: float = 1.5
    """Branch predictors and the like learn repeated values too, but gain less."""
    waiting_ratio: float = 2.0
    """The same of calls that wait for the device, which have the host's time between their events: an honest one took
    1.53 times as long on an H200, for making new values takes up the host's caches."""
    few_ratio: float = 3.0
    """The same where there are few samples."""
    few: int = 5
    """Samples of either kind below which there are few."""
    many: int = 8
    least_us: float = 2.0


GAP: Final = CacheGap()
FEWEST: Final = 2
"""Calls of either kind below which their times say nothing."""


def time_checks(capture: Capture, evidence: IntegrityEvidence) -> Iterator[Check]:
    """The checks of times."""
    yield _cached(capture, evidence)
    yield _told_apart(capture, evidence)


def _times(calls: Sequence[TimedCall], values: tuple[Values, ...]) -> list[float]:
    return [call.us for call in calls if call.values in values]


def _never_seen(calls: Sequence[TimedCall]) -> list[float]:
    """Times of calls with values never seen. A kernel that took some for those it knows did not work on them."""
    new = [call for call in calls if call.values in NEVER_SEEN]
    right = [call for call in new if not call.mismatches]
    return [call.us for call in (right if len(right) >= FEWEST else new)]


def repeated_us(calls: Sequence[TimedCall]) -> float | None:
    """Median over the calls with the usual values."""
    return median(_times(calls, ("repeated",)))


def never_seen_us(calls: Sequence[TimedCall]) -> float | None:
    """Median over the calls with values never seen, at the usual addresses."""
    return median(_never_seen(calls))


def _cached(capture: Capture, evidence: IntegrityEvidence) -> Check:
    """Calls with values seen before are faster than the work allows."""
    name = "cached_result"
    seen, new = _times(evidence.calls, ("repeated",)), _never_seen(evidence.calls)
    if min(len(seen), len(new)) < FEWEST:
        absent = evidence.absent
        return unknown(name, absent.get("refilled") or absent.get("calls") or NOT_LOOKED)
    usual, never = median(seen) or 0.0, median(new) or 0.0
    told = f"{never:.4g} us with values never seen, {usual:.4g} us with those it has seen before"
    few = min(len(seen), len(new)) < GAP.few
    series = _series(capture, evidence, evidence.calls[0])
    ratio = GAP.few_ratio if few else GAP.waiting_ratio if _waits(series) else GAP.ratio
    fast = _upper_quartile(seen)
    if few:
        # The other timed calls have values seen before too. They are left out of many, for their caches are others.
        fast = max(fast, _upper_quartile([us for one in series for us in one.kernel_us] or seen))
    pairs = [(fast, sorted(new)[int(0.25 * len(new))])]
    many = len(new) >= GAP.many and not few
    if many:
        pairs.append((usual, min(new)))
    if any(slow >= ratio * fast and slow - fast >= GAP.least_us for fast, slow in pairs):
        apart = max(seen) < min(new)
        if _busy(series) and (few or not (apart or many)):
            return unknown(name, _BUSY)
        if apart or not few:
            return fail(name, f"a call takes {told}")
    return Check(name=name, severity="fail", passed=True, detail=told)


def _upper_quartile(times: Sequence[float]) -> float:
    return sorted(times)[math.ceil(0.75 * len(times)) - 1]


class ApartGap(Record, frozen=True, kw_only=True):
    """From when on looked-at calls with the usual values are too slow beside all other timed calls.

    Emptied caches make them alike. On a host, writing the values anew and what kprof does meanwhile cost a little
    (measured on a CPU, the fastest looked-at call against the median of the others: up to 2.5 times a call of 3 us, 1.5
    times one of 100 us).
    """

    ratio: float = 1.5
    host_ratio: float = 3.0
    least_us: float = 5.0
    host_least_us: float = 100.0
    fewest: int = 4
    fewest_when_busy: int = 8
    """Where other work took the processors."""


APART: Final = ApartGap()


def _told_apart(capture: Capture, evidence: IntegrityEvidence) -> Check:
    """The kernel works in calls that are looked at, and saves the work in others."""
    name = "told_apart"
    looked = [call for call in evidence.calls if call.values == "repeated"]
    series = _series(capture, evidence, looked[0]) if looked else []
    others = [us for one in series for us in one.kernel_us]
    if len(looked) < APART.fewest or not others:
        few = _FEW_CALLS if len(looked) < APART.fewest else _NO_OTHERS
        return unknown(name, evidence.absent.get("calls") or few)
    fastest, usual = min(call.us for call in looked), median(others) or 0.0
    # A call that waits for the device has the host's time between its events.
    on_host = looked[0].timer == "host" or _waits(series)
    ratio, least = (APART.host_ratio, APART.host_least_us) if on_host else (APART.ratio, APART.least_us)
    told = f"{fastest:.4g} us at least where calls are looked at, {usual:.4g} us elsewhere, for the same values"
    # Host times fall into two heaps where threads wait for a processor: who saves work does so in most calls elsewhere.
    most = _upper_quartile(others) if looked[0].timer == "host" else usual
    if fastest >= ratio * most and fastest - most >= least:
        if _busy(series) and len(looked) < APART.fewest_when_busy:
            return unknown(name, _BUSY)
        return fail(name, f"a call takes {told}")
    return Check(name=name, severity="fail", passed=True, detail=told)


def _series(capture: Capture, evidence: IntegrityEvidence, call: TimedCall) -> list[Series]:
    """Those that a looked-at call was among."""
    every = evidence.series or all_series(capture)
    return [one for one in every if (one.timer, one.cache) == (call.timer, call.cache)]


def _waits(series: Sequence[Series]) -> bool:
    """The device overtook the host, as it does where a call waits for it."""
    return any(one.queue_kept_full is False for one in series)


def _busy(series: Sequence[Series]) -> bool:
    return any(map(is_contended, series))


_BUSY: Final = Reason(
    code="host_contended",
    message="other work took the processors: too few calls were looked at to tell its share from the kernel's",
    hint="Measure on a machine that does nothing else.",
)
_FEW_CALLS: Final = Reason(code="too_few_calls", message="too few timed calls with the usual values were looked at")


def device_us(capture: Capture, timer: str) -> float | None:
    """The kernel's time by one timer, cold, what it reads round nothing taken off."""
    for series in all_series(capture):
        if series.timer == timer and series.cache == "cold" and series.kernel_us:
            return (median(series.kernel_us) or 0.0) - (series.bias_us or 0.0)
    return None


_NO_OTHERS: Final = Reason(code="no_other_calls", message="there are no times of calls that were not looked at")
