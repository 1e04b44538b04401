"""Is ``b`` faster than ``a``, where that can be said at all?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kprof.comparison.records import Difference, MetricChange, Verdict, VerdictCode
from kprof.evidence import Reason
from kprof.gates.change import CONFIDENCE
from kprof.gates.noise import beside_samples, noise_of
from kprof.gates.paths import finite, parse_path, part
from kprof.gates.plausible import in_words, leaps, past_the_floor, wrong_result
from kprof.gates.possible import impossible

_ALL_PCT: Final = -100.0
"""A change to nothing: as much as rounding leaves of a far smaller number."""
_WIDEST: Final = 2.0
"""An interval of the speedup that holds 1 and spans more than this factor tells neither same from other."""
_TIME: Final = parse_path("timing.kernel_us")


def verdict(
    a: dict[str, Any],
    b: dict[str, Any],
    time: MetricChange | None,
    differences: Sequence[Difference],
    *,
    forced: bool,
) -> Verdict:
    """The verdict on two reports as plain values.

    Args:
        a: the first.
        b: the one that is judged.
        time: how ``timing.kernel_us`` changed; None: neither report has one.
        differences: what is not alike beside the kernels.
        forced: judge although they bar it.
    """
    barred = [one.name for one in differences if one.bars_verdict]
    if barred and not forced:
        return _without("not_comparable", f"not said: {', '.join(barred)} differ (--force says it all the same)")
    wrong = [(which, told) for which, one in (("a", a), ("b", b)) if (told := wrong_result(one)) is not None]
    if wrong:
        return _without("wrong_result", "; ".join(f"{which}: {told}" for which, told in wrong))
    nothing = _no_times(time)
    if nothing:
        return _without("no_time", f"no time of the kernel in {' and '.join(nothing)}")
    if time is None or time.change_pct is None:
        return _without("no_time", _why_no_time(time))
    if time.change_pct <= _ALL_PCT:
        return _without("no_time", "the times of the kernel in a and b are too far apart for a factor between them")
    return _timed(a, b, time, barred)


def _no_times(time: MetricChange | None) -> list[str]:
    """The reports whose number is not a time: 0, or less."""
    numbers = [("a", finite(time.a)), ("b", finite(time.b))] if time is not None else []
    told = ((which, impossible("kernel_us", number)) for which, number in numbers if number is not None)
    return [f"{which} ({broken[1]})" for which, broken in told if broken is not None]


def _without(code: VerdictCode, text: str) -> Verdict:
    return Verdict(code=code, text=text, speedup=None, speedup_interval=None, confidence=None, doubts=())


def _why_no_time(time: MetricChange | None) -> str:
    if time is None:
        return "neither report has a time of the kernel; kernels and counters are compared below"
    codes = [f"{which} ({code})" for which, code in (("a", time.reason_a), ("b", time.reason_b)) if code]
    return f"no time of the kernel in {' and '.join(codes) or 'one of them'}"


def _in_our_words(warning: Reason) -> str:
    """A warning that is said of a report and its baseline, said of b and a."""
    if warning.code == "other_timer":
        return "the kernels were timed by different timers, which differ by up to 5 %"
    return warning.message


def _timed(a: dict[str, Any], b: dict[str, Any], time: MetricChange, barred: Sequence[str]) -> Verdict:
    assert time.change_pct is not None
    speedup = 100.0 / (100.0 + time.change_pct)
    ends = time.interval_pct
    interval = None
    if ends is not None and ends[0] > _ALL_PCT:
        interval = 100.0 / (100.0 + ends[1]), 100.0 / (100.0 + ends[0])
    doubts = [f"forced: {', '.join(barred)} differ, which may be all that is seen here"] if barred else []
    doubts += [_in_our_words(warning) for warning in noise_of(_TIME, b, a).warnings]
    boundless = ends is not None and interval is None
    wide = interval is not None and time.outcome == "within_noise" and interval[1] > _WIDEST * interval[0]
    untrusted = boundless or wide
    if untrusted:
        doubts.append(f"the interval spans more than a factor of {_WIDEST:g}: it says nothing of which is faster")
    for which, one in (("a", a), ("b", b)):
        reason = part(one, "blocks", "timing", "reason")
        if part(one, "blocks", "timing", "status") == "suspect":
            untrusted = True
            doubts.append(f"the time of {which} is not to be trusted: {part(reason, 'message')}")
        contradicted = beside_samples(_TIME, one)
        if contradicted is not None:
            untrusted = True
            doubts.append(f"the time of {which} is not to be trusted: {contradicted}")
    past = past_the_floor(_TIME, b)
    if past is not None:
        code: VerdictCode = "implausible"
        doubts.append(past)
    elif untrusted:
        code = "untrusted"
    else:
        code = {"better": "faster", "worse": "slower"}.get(time.outcome, "within_noise")  # type: ignore[assignment]
    if leaps(_TIME, speedup):
        doubts.append(f"{in_words(speedup)} in one step: check that b does all of the work")
    text = {
        "faster": "b is faster than a",
        "slower": "b is slower than a",
        "within_noise": "the difference is within the noise",
        "implausible": "b is faster than its task allows",
        "untrusted": "the times are not to be trusted",
    }[code]
    return Verdict(
        code=code,
        text=text,
        speedup=speedup,
        speedup_interval=interval,
        confidence=CONFIDENCE if interval is not None else None,
        doubts=tuple(doubts),
    )
