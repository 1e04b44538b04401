"""Two reports -> the comparison."""

from __future__ import annotations

from typing import Any

import msgspec

from kprof import __version__
from kprof.comparison.changes import metric_changes
from kprof.comparison.explanation import explanations
from kprof.comparison.identity import differences
from kprof.comparison.matching import kernel_groups, match_kernels
from kprof.comparison.records import Comparison, MetricChange, Subject
from kprof.comparison.verdict import verdict
from kprof.report import Report


def compare(a: Report, b: Report, files: tuple[str, str], *, force: bool = False) -> Comparison:
    """What changed from ``a`` to ``b``, and why.

    Args:
        a: the first report.
        b: the one that is held against it.
        files: what to call the two.
        force: say which one is faster although the two are not comparable.
    """
    # As they stand in their files: the gates' rules read plain values.
    plain: list[dict[str, Any]] = [msgspec.json.decode(msgspec.json.encode(one)) for one in (a, b)]
    unlike = differences(*plain)
    changes = metric_changes(*plain)
    time = next((one for one in changes if one.path == "timing.kernel_us"), None)
    comparable = not any(one.bars_verdict for one in unlike)
    matched, added, removed = match_kernels(kernel_groups(a.kernels), kernel_groups(b.kernels))
    return Comparison(
        kprof_version=__version__,
        a=_subject(a, files[0]),
        b=_subject(b, files[1]),
        comparable=comparable,
        forced=force,
        differences=unlike,
        verdict=verdict(plain[0], plain[1], time, unlike, forced=force),
        explanations=explanations(changes, *plain),
        changes=changes if comparable or force else tuple(map(_unjudged, changes)),
        matched=tuple(matched),
        added=tuple(added),
        removed=tuple(removed),
    )


def _unjudged(one: MetricChange) -> MetricChange:
    """Of two tasks or boards neither number is the better one."""
    return msgspec.structs.replace(one, outcome="changed") if one.outcome in ("better", "worse") else one


def _subject(report: Report, file: str) -> Subject:
    workload, environment = report.workload, report.environment
    return Subject(
        file=file,
        created=report.created,
        source=report.source,
        kernel_file=workload.kernel_file,
        kernel_sha256=workload.kernel_sha256,
        entry=workload.entry,
        ref_file=workload.ref_file,
        report_file=report.counters.report_file if report.counters is not None else None,
        device_name=environment.device_name,
        device=environment.device,
        spec=environment.spec,
        precision_passed=report.blocks.precision.passed,
        launches=len(report.kernels),
    )
