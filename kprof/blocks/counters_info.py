"""How the hardware counters of a report came about: which tool, which settings, what it cost."""

from __future__ import annotations

from typing import Annotated, Final

from kprof.counter_evidence import CountersEvidence
from kprof.evidence import Reason, Record
from kprof.metrics import metric

_NCU: Final = "ncu"
_SELF: Final = "kprof"


class RunInfo(Record, frozen=True, kw_only=True):
    """One run of ncu."""

    purpose: Annotated[
        str, metric("text", "default, full, or tensor: operations of tensor cores by type", source=_SELF)
    ]
    passes: Annotated[int | None, metric("count", "Most passes of one launch", better="lower", source=_NCU)]
    launches: Annotated[int, metric("count", "Launches profiled", source=_NCU)]
    metrics_asked: Annotated[int, metric("count", "Metrics asked for by name", source=_SELF)]
    seconds: Annotated[float, metric("s", "Wall time, process start included", better="lower", source=_SELF)]
    command: Annotated[tuple[str, ...], metric("text", "The command line", source=_SELF)]


class CountersInfo(Record, frozen=True, kw_only=True):
    """Where the numbers of ``sol``, ``roofline``, ``occupancy``, ``caches`` and ``stalls`` come from."""

    format: Annotated[str, metric("text", "ncu_report, ncu_csv_raw or ncu_csv_details", source=_SELF)]
    ncu_version: Annotated[str | None, metric("text", "Version of Nsight Compute; null: not said", source=_NCU)]
    clock_control: Annotated[str | None, metric("text", "As given to ncu; null: imported", source=_SELF)]
    cache_control: Annotated[str | None, metric("text", "As given to ncu; null: imported", source=_SELF)]
    replay_mode: Annotated[str | None, metric("text", "As given to ncu; null: imported", source=_SELF)]
    launch_limit: Annotated[int | None, metric("count", "Launches of a side at most; null: imported", source=_SELF)]
    launches: Annotated[int, metric("count", "Launches with counters", source=_NCU)]
    combined_launches: Annotated[
        int,
        metric(
            "count",
            "Of them, launches that the counter blocks put together: the kernel's, of an import all on its main device",
            source=_SELF,
        ),
    ]
    runs: Annotated[tuple[RunInfo, ...], metric("record", "Runs of ncu", source=_SELF)]
    report_file: Annotated[str | None, metric("text", "The report kept or imported; null: not kept", source=_SELF)]
    report_sha256: Annotated[str | None, metric("text", "SHA-256 of its content", source=_SELF)]
    warnings: Annotated[tuple[Reason, ...], metric("record", "What to know before using them", source=_SELF)]


def counters_info(
    evidence: CountersEvidence | None, combined_launches: int, warnings: tuple[Reason, ...]
) -> CountersInfo | None:
    """The section of a report; None: the run holds no counters."""
    if evidence is None:
        return None
    return CountersInfo(
        format=evidence.format,
        ncu_version=evidence.ncu_version,
        clock_control=evidence.clock_control,
        cache_control=evidence.cache_control,
        replay_mode=evidence.replay_mode,
        launch_limit=evidence.launch_limit,
        launches=len(evidence.launches),
        combined_launches=combined_launches,
        runs=tuple(
            RunInfo(**{name: getattr(run, name) for name in RunInfo.__struct_fields__}) for run in evidence.runs
        ),
        report_file=evidence.report_file,
        report_sha256=evidence.report_sha256,
        warnings=warnings,
    )
