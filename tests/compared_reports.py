"""Pairs of reports for the tests of comparisons: recorded runs, and the same with one thing changed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import captures
import msgspec

from kprof.capture import load_capture
from kprof.comparison.compare import compare
from kprof.comparison.records import Comparison, MetricChange
from kprof.importing import import_capture
from kprof.report import Report, build_report

DATA = Path(__file__).parent / "data"


@cache
def recorded(name: str) -> Report:
    """A run on an H200."""
    return build_report(load_capture(DATA / "h200" / f"{name}.json"), source="replayed")


def naive() -> Report:
    return recorded("cuda_naive_4x8192x4096")


def fused() -> Report:
    return recorded("triton_fused_4x8192x4096")


@cache
def imported() -> Report:
    capture = import_capture(DATA / "ncu" / "probes.raw.csv", None, ("kprof", "import", "probes.raw.csv"))
    made = build_report(capture, source="imported")
    return changed(made, created="2026-12-01T15:00:00Z", counters__report_file="probes.raw.csv")


def by_hand(name: str = "tiny") -> Report:
    return build_report(captures.ALL[name]())


def changed(record: Any, **values: Any) -> Any:
    """The record with other values, by path: ``workload__seed=7``."""
    for path, value in values.items():
        name, _, below = path.partition("__")
        inner = changed(getattr(record, name), **{below: value}) if below else value
        record = msgspec.structs.replace(record, **{name: inner})
    return record


def scaled(report: Report, factor: float) -> Report:
    """The same run with a kernel that takes ``factor`` times as long, samples and headline view too."""
    timing = report.blocks.timing
    assert timing.kernel_us is not None
    assert timing.device.cold is not None
    samples = timing.samples_us["device"]
    assert samples.kernel is not None
    slow = msgspec.structs.replace(samples, kernel=tuple(one * factor for one in samples.kernel))
    return changed(
        report,
        blocks__timing__kernel_us=timing.kernel_us * factor,
        blocks__timing__samples_us={**timing.samples_us, "device": slow},
    )


def compared(a: Report, b: Report, *, force: bool = False) -> Comparison:
    return compare(a, b, ("a.json", "b.json"), force=force)


def of(comparison: Comparison, path: str) -> MetricChange:
    return next(one for one in comparison.changes if one.path == path)
