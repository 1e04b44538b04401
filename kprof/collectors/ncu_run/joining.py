"""Makes one body of evidence of what several runs of ncu reported: sides told, caps kept, tensor sums joined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from kprof.counter_evidence import CountersEvidence, ProfiledLaunch
from kprof.counters.families import is_stall_sample
from kprof.counters.resolve import resolve
from kprof.evidence import Reason, Side
from kprof.kernelnames import base_name

_Key = tuple[Side | None, str, tuple[int, int, int] | None, int]


def of_process(evidence: CountersEvidence, process_id: int | None) -> CountersEvidence:
    """The launches of one process: what its children launch is not the call's own.

    Args:
        evidence: as read.
        process_id: the worker's; None: not known, then all stay.
    """
    if process_id is None:
        return evidence
    kept = tuple(launch for launch in evidence.launches if launch.process_id in (None, process_id))
    left = len(evidence.launches) - len(kept)
    if not left:
        return evidence
    reason = Reason(
        code="other_processes",
        message=f"{left} launches of other processes than the one that made the calls were left out",
        hint="Code that launches from processes of its own is not measured.",
    )
    return msgspec.structs.replace(evidence, launches=kept, warnings=(*evidence.warnings, reason))


def of_side(evidence: CountersEvidence, side: Side) -> CountersEvidence:
    """The evidence of a run that called one side alone: all its launches are that side's."""
    launches = tuple(msgspec.structs.replace(launch, side=side) for launch in evidence.launches)
    return msgspec.structs.replace(evidence, launches=launches)


def first_of_each_side(launches: Iterable[ProfiledLaunch], limit: int) -> tuple[ProfiledLaunch, ...]:
    """The first ``limit`` launches of each side, in order."""
    seen: Counter[Side | None] = Counter()
    kept = []
    for launch in launches:
        seen[launch.side] += 1
        if seen[launch.side] <= limit:
            kept.append(launch)
    return tuple(kept)


def together(parts: Sequence[CountersEvidence]) -> CountersEvidence:
    """The evidence of several runs, each of other launches, numbered on from one to the next.

    Args:
        parts: at least one, of the same tool and settings.
    """
    launches: list[ProfiledLaunch] = []
    for part in parts:
        begins = max((launch.launch_id for launch in launches), default=-1) + 1
        launches += [
            msgspec.structs.replace(launch, launch_id=launch.launch_id + begins) if begins else launch
            for launch in part.launches
        ]
    warnings = tuple(dict.fromkeys(reason for part in parts for reason in part.warnings))
    return msgspec.structs.replace(
        parts[0], launches=tuple(launches), runs=tuple(run for part in parts for run in part.runs), warnings=warnings
    )


def uses_tensor_cores(launch: ProfiledLaunch) -> bool:
    """Its matrix, FP64 or integer tensor pipes were busy; where none of them was counted, the tensor pipe as a whole.

    The pipe as a whole is busy with FP16 vector instructions too.
    """
    found = resolve(launch)
    parts = [found.matrix_pct, found.tensor_fp64_pct, found.tensor_int_pct]
    if found.matrix_pct is None:
        parts.append(found.tensor_pct)
    return any(part is not None and part > 0 for part in parts)


def joined(
    evidence: CountersEvidence, more: CountersEvidence, wanted: Iterable[ProfiledLaunch]
) -> tuple[CountersEvidence, int]:
    """Add the metrics of a second run of the same calls, launch by launch.

    A launch is found again by its side, its base name, its grid and its place among those that share them. What the
    first run measured stays as it is.

    Args:
        evidence: of the first run.
        more: of the second.
        wanted: the launches of the first that the second was for.

    Returns:
        The first run's evidence with what was joined, and how many of ``wanted`` found nothing.
    """
    again = dict(zip(_keys(more.launches), more.launches, strict=True))
    asked = {launch.launch_id for launch in wanted}
    launches, missed = [], 0
    for key, launch in zip(_keys(evidence.launches), evidence.launches, strict=True):
        other = again.get(key) if launch.launch_id in asked else None
        if other is None:
            missed += launch.launch_id in asked
            launches.append(launch)
        else:
            metrics = {**other.metrics, **launch.metrics}
            absent = {name: why for name, why in {**other.absent, **launch.absent}.items() if name not in metrics}
            launches.append(msgspec.structs.replace(launch, metrics=metrics, absent=absent))
    return msgspec.structs.replace(evidence, launches=tuple(launches)), missed


def with_further_samples(evidence: CountersEvidence) -> CountersEvidence:
    """Add the samples of the calls that were made for them to those of the first call's launches, and drop the rest.

    Samples are counts: those of the same kernel on the same inputs add up.
    """
    launches = [launch for launch in evidence.launches if not launch.samples_only]
    further = [launch for launch in evidence.launches if launch.samples_only]
    if not further:
        return evidence
    alike = Counter((launch.side, base_name(launch.name), launch.grid) for launch in launches)
    sums: dict[_Key, Counter[str]] = {}
    for (side, name, grid, place), launch in zip(_keys(further), further, strict=True):
        each = alike[side, name, grid]
        if each:
            counted = {n: v for n, v in launch.metrics.items() if is_stall_sample(n) and isinstance(v, float)}
            sums.setdefault((side, name, grid, place % each), Counter()).update(counted)
    merged = tuple(_adding(launch, sums.get(key)) for key, launch in zip(_keys(launches), launches, strict=True))
    return msgspec.structs.replace(evidence, launches=merged)


def _adding(launch: ProfiledLaunch, samples: Counter[str] | None) -> ProfiledLaunch:
    if not samples:
        return launch
    summed = {n: v + samples[n] for n, v in launch.metrics.items() if isinstance(v, float) and n in samples}
    return msgspec.structs.replace(launch, metrics={**launch.metrics, **summed})


def _keys(launches: Iterable[ProfiledLaunch]) -> list[_Key]:
    seen: Counter[tuple[Side | None, str, tuple[int, int, int] | None]] = Counter()
    keys: list[_Key] = []
    for launch in launches:
        what = (launch.side, base_name(launch.name), launch.grid)
        keys.append((*what, seen[what]))
        seen[what] += 1
    return keys
