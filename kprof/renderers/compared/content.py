"""What a comparison says: what is unlike first, then the verdict and why, then numbers and kernels side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from kprof.comparison.records import Comparison, KernelGroup, KernelMatch, MetricChange, Subject, Value
from kprof.comparison.records import Verdict as Judged
from kprof.comparison.words import share
from kprof.evidence import SIDE_NAMES
from kprof.renderers import quantities
from kprof.renderers.content import Section, Table, Tone, Verdict, plural
from kprof.renderers.why import because, words

LABELS: Final[dict[str, tuple[str, Tone]]] = {
    "faster": ("FASTER", "good"),
    "slower": ("SLOWER", "bad"),
    "within_noise": ("SAME", "plain"),
    "no_time": ("NO TIME", "doubt"),
    "not_comparable": ("REFUSED", "bad"),
    "wrong_result": ("WRONG", "bad"),
    "implausible": ("SUSPECT", "bad"),
    "untrusted": ("UNKNOWN", "doubt"),
}
"""The word for each verdict."""
_MOVED: Final = frozenset({"better", "worse", "changed"})
_MOST_ALONE: Final = 2
"""Metrics that one report lacks for one reason: more of them are told in a line."""
_MOST_KERNELS: Final = 12
_MOST_REASONS: Final = 6
_NONE: Final = "none"
_CLOCKS: Final = {"timing.sm_clock_mhz": "", "roofline.sm_clock_mhz": " under ncu"}
_FACTORS: Final = frozenset({"timing.speedup"})
_SHARES: Final = frozenset({"sol.score", "sol.task_score"})
"""Ratios that are read as a factor, and as a share."""


def title(comparison: Comparison) -> str:
    """Which is held against which."""
    return f"{_name(comparison.b)} against {_name(comparison.a)}"


def _name(subject: Subject) -> str:
    known = subject.kernel_file or subject.report_file
    return PurePath(known).name if known else PurePath(subject.file).name


def circumstances(comparison: Comparison) -> tuple[str, str]:
    """Where each of the two comes from: when it was measured, on what, at which clock."""
    clock = _clock(comparison)
    a, b = (
        f"{which}: {one.file}, of {one.created} on {_device(one)}{_at(clock, which)}"
        for which, one in (("a", comparison.a), ("b", comparison.b))
    )
    return a, b


def _device(subject: Subject) -> str:
    return f"{subject.device_name} ({subject.device})" if subject.device_name else subject.device


def _clock(comparison: Comparison) -> MetricChange | None:
    """The SM clock while timed; where neither has one, that under ncu."""
    of = {one.path: one for one in comparison.changes if (one.a, one.b) != (None, None)}
    return next((of[path] for path in _CLOCKS if path in of), None)


def _at(clock: MetricChange | None, which: str) -> str:
    value = None if clock is None else clock.a if which == "a" else clock.b
    return "" if clock is None or value is None else f" at {in_unit(value, clock.unit)}{_CLOCKS[clock.path]}"


def verdicts(comparison: Comparison) -> list[Verdict]:
    """What is unlike, the verdict, and why."""
    shown = [
        Verdict(
            label="DIFFERS",
            text=f"{one.name.replace('_', ' ')}: {one.a} in a, {one.b} in b",
            tone="bad" if one.bars_verdict else "doubt",
        )
        for one in comparison.differences
    ]
    shown.append(_verdict(comparison.verdict, time_of(comparison)))
    reasons = [one.text for one in comparison.explanations]
    more = len(reasons) - _MOST_REASONS
    told = (*reasons[1:_MOST_REASONS], *([f"and {more} more below"] if more > 0 else []))
    label = "CHANGED" if comparison.verdict.speedup is None else "WHY"
    return [*shown, Verdict(label=label, text=reasons[0], tone="plain", more=told)]


def time_of(comparison: Comparison) -> MetricChange | None:
    """How the kernel's time changed."""
    return next((one for one in comparison.changes if one.path == "timing.kernel_us"), None)


def _verdict(judged: Judged, time: MetricChange | None) -> Verdict:
    label, tone = LABELS[judged.code]
    if judged.speedup is None or time is None:
        return Verdict(label=label, text=judged.text, tone=tone, more=judged.doubts)
    ends, interval = judged.speedup_interval, "no interval: too few samples"
    if ends is not None and judged.confidence is not None:
        low, high = (quantities.factor(one, 4) for one in ends)
        interval = f"{judged.confidence * 100:g} %: {low} to {high}"
    text = f"{judged.text}: {quantities.factor(judged.speedup, 4)} as fast ({interval})"
    times = f"kernel {in_unit(time.a, 'us')} in a, {in_unit(time.b, 'us')} in b ({change(time)})"
    doubted: Tone = "doubt" if judged.doubts and tone == "good" else tone
    return Verdict(label=label, text=text, tone=doubted, more=(times, *judged.doubts))


def in_unit(value: Value | None, unit: str) -> str:
    """A value in the words of its unit; ``none`` only where nobody says why."""
    return _NONE if value is None else quantities.in_unit(value, unit)


def change(one: MetricChange) -> str:
    """``-28.5 %``; in words where there is no share."""
    if one.change_pct is None:
        if one.a == 0 and one.outcome in _MOVED:
            return "from 0"
        return "changed" if one.outcome in _MOVED else one.outcome.replace("_", " ")
    if one.unit == "%" and isinstance(one.a, (int, float)) and isinstance(one.b, (int, float)):
        return f"{one.b - one.a:+.3g} points"
    return share(one.change_pct)


def sections(comparison: Comparison, most_kernels: int = _MOST_KERNELS) -> list[Section]:
    """The tables, in order."""
    parts = [
        _changes(comparison.changes),
        _matched(comparison.matched, most_kernels),
        _only("b", comparison.added, most_kernels),
        _only("a", comparison.removed, most_kernels),
    ]
    return [part for part in parts if part is not None]


def _changes(changes: Sequence[MetricChange]) -> Section | None:
    """What is beyond its noise, one row each; the rest by name."""
    lacking: dict[tuple[str, str], list[MetricChange]] = {}
    for one in changes:
        if one.outcome == "unknown":
            lacking.setdefault(("a", one.reason_a) if one.reason_a else ("b", one.reason_b or _NONE), []).append(one)
    many = {id(one) for group in lacking.values() if len(group) > _MOST_ALONE for one in group}
    rows = tuple(
        (
            one.label,
            _value(one, one.a, one.reason_a),
            _value(one, one.b, one.reason_b),
            "not known" if one.outcome == "unknown" else change(one),
            one.outcome if one.outcome in ("better", "worse") else "",
        )
        for one in changes
        if one.outcome in _MOVED or (one.outcome == "unknown" and id(one) not in many)
    )
    steady = [one.label for one in changes if one.outcome == "within_noise"]
    same = sum(one.outcome == "same" for one in changes)
    notes = [
        f"not in {which}, {because(code)}: {', '.join(one.label for one in group)}"
        for (which, code), group in lacking.items()
        if len(group) > _MOST_ALONE
    ]
    notes += [f"within their noise: {', '.join(steady)}"] if steady else []
    notes += [f"the same: {plural(same, 'other metric')}"] if same else []
    if not rows and not notes:
        return None
    table = Table(headers=("", "a", "b", "change", ""), rows=rows, words=(0, 4), spare=(4,))
    return Section(title="what changed", tables=(table,) if rows else (), notes=tuple(notes))


def _value(one: MetricChange, value: Value | None, reason: str | None) -> str:
    if value is None:
        return words(reason) if reason else _NONE
    if one.path in _FACTORS and isinstance(value, (int, float)):
        return quantities.factor(value)
    if one.path in _SHARES and isinstance(value, (int, float)):
        return quantities.share(value * 100)
    return in_unit(value, one.unit)


def _matched(matches: Sequence[KernelMatch], most: int) -> Section | None:
    """The kernels of both, those with most time first."""
    if not matches:
        return None
    rows = tuple(_match_row(one) for one in matches[:most])
    left = len(matches) - most
    by_name = sum(one.matched_by == "name" for one in matches)
    notes = [f"{plural(by_name, 'kernel')} with another grid or block, matched by name: marked *"] if by_name else []
    notes += [f"and {left:,} more in the comparison as JSON"] if left > 0 else []
    table = Table(
        headers=("kernel", "of", "runs", "time in a", "in b", "change", "DRAM bytes", "bound"),
        rows=rows,
        words=(0, 1, 7),
        names=(0,),
        spare=(2, 6),
    )
    return Section(title=f"kernels of both: {len(matches):,}", tables=(table,), notes=tuple(notes))


def _match_row(one: KernelMatch) -> tuple[str, ...]:
    by_path = {each.path: each for each in one.changes}
    mark = "*" if one.matched_by == "name" else ""
    bound, runs = by_path["bound"], by_path["launches"]
    words = [each.replace("_", " ") if each else "not known" for each in (one.a.bound, one.b.bound)]
    return (
        one.b.name,
        f"{SIDE_NAMES[one.b.side] if one.b.side else ''}{mark}",
        f"{one.b.launches}" if runs.outcome == "same" else f"{one.a.launches} to {one.b.launches}",
        _known(one.a.total_us, "us"),
        _known(one.b.total_us, "us"),
        _moved(by_path["total_us"]),
        _moved(by_path["dram_bytes"]),
        words[0] if bound.outcome in ("same", "unknown") and words[0] == words[1] else f"{words[0]} to {words[1]}",
    )


def _moved(one: MetricChange) -> str:
    if one.outcome in ("same", "within_noise"):
        return "same" if one.outcome == "same" else "in noise"
    return "not known" if one.outcome == "unknown" else change(one)


def _known(value: float | None, unit: str) -> str:
    return "not known" if value is None else in_unit(value, unit)


def _only(which: str, groups: Sequence[KernelGroup], most: int) -> Section | None:
    """The kernels that only one of the two has."""
    if not groups:
        return None
    rows = tuple(
        (
            one.name,
            SIDE_NAMES[one.side] if one.side else "",
            str(one.launches),
            _known(one.total_us, "us"),
            "not known" if one.grid is None else quantities.extent(one.grid),
            "not known" if one.block is None else quantities.extent(one.block),
            (one.bound or "not known").replace("_", " "),
        )
        for one in groups[:most]
    )
    left = len(groups) - most
    notes = (f"and {left:,} more in the comparison as JSON",) if left > 0 else ()
    headers = ("kernel", "of", "runs", "time", "grid", "block", "bound")
    table = Table(headers=headers, rows=rows, words=(0, 1, 6), names=(0,), spare=(5,))
    return Section(title=f"kernels only in {which}: {len(groups):,}", tables=(table,), notes=notes)
