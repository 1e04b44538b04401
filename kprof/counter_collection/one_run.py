"""One run of ncu round kprof's worker: start it, follow it, read its report, say why where there is none."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import msgspec

from kprof.collectors.ncu_run.command_line import RunSettings, ncu_command
from kprof.collectors.ncu_run.failures import ToolRun, empty_report, failure, no_kernels, unreadable_report
from kprof.collectors.ncu_run.joining import of_process, of_side, with_further_samples
from kprof.collectors.ncu_run.kept import keep_report
from kprof.collectors.ncu_run.request import MetricRequest
from kprof.collectors.ncu_run.tool import NcuTool
from kprof.collectors.ncu_run.tool_log import most_passes
from kprof.counter_evidence import CounterRun, CountersEvidence
from kprof.errors import KprofError
from kprof.evidence import Fault, Reason, Side
from kprof.files import read_text
from kprof.subprocesses.processes import worker_pid
from kprof.worker.outcome import Outcome
from kprof.worker.protocol import Request, Update
from kprof.worker.supervisor import Limits, Tool, Worker

REPORT_FILE: Final = "report.ncu-rep"
LOG_FILE: Final = "ncu.log"
_ENVIRONMENT: Final = {"LC_ALL": "C", "KPROF_UNDER_NCU": "1"}
_PASSES: Final = "profiler__replayer_passes"


class ReadReport(Protocol):
    """Reads a report file."""

    def __call__(self, path: Path, *, allow_empty: bool) -> CountersEvidence:
        """Raises `KprofError` where it cannot be read."""


@dataclass(frozen=True)
class Surroundings:
    """What all runs of one collection share."""

    tool: NcuTool
    request: Request
    limits: Limits
    on_update: Callable[[Update], None]
    read_report: ReadReport


@dataclass(frozen=True)
class RunPlan:
    """What one run is for."""

    metrics: MetricRequest
    settings: RunSettings
    sides: tuple[Side, ...]
    sampled: tuple[Side, ...] = ()
    """Those that are called more often, for samples of warp states."""
    filtered: bool = False
    """The user picked kernels by name."""
    keep: Path | None = None


@dataclass(frozen=True)
class RunResult:
    """What came of one run: evidence, a fault, or both where it failed on the way."""

    evidence: CountersEvidence | None
    fault: Fault | None


def run_ncu(around: Surroundings, plan: RunPlan) -> RunResult:
    """Run ncu once. Everything is bounded; its report is read before the private folder goes."""
    request = msgspec.structs.replace(
        around.request,
        stages=("counters",),
        describe=False,
        held=False,
        profiled_sides=plan.sides,
        sampled_sides=plan.sampled,
    )
    tool = Tool(
        lambda folder: ncu_command(around.tool, plan.metrics, plan.settings, folder / REPORT_FILE, folder / LOG_FILE),
        _ENVIRONMENT,
    )
    began = time.monotonic()
    with Worker(request, tool=tool) as worker:
        outcome = worker.follow(around.limits, around.on_update)
        seconds = time.monotonic() - began
        report, log = worker.folder / REPORT_FILE, read_text(worker.folder / LOG_FILE)
        run = _tool_run(around.tool, outcome, log, report.is_file(), plan.filtered)
        fault = failure(run, _told_by(outcome))
        if not run.report_written:
            return RunResult(None, fault)
        try:
            evidence = around.read_report(report, allow_empty=True)
        except KprofError as error:
            reason = Reason(code="ncu_report_unreadable", message=error.message, hint=error.hint)
            return RunResult(None, fault or unreadable_report(run, reason))
        kept, unkept = keep_report(report, plan.keep)
        evidence, fault = _own_launches(evidence, run, fault, plan.sides, worker_pid(worker.folder))
        evidence = msgspec.structs.replace(
            evidence,
            runs=(_did(plan, evidence, log, seconds, worker.command),),
            report_file=str(kept) if kept is not None else None,
            warnings=evidence.warnings + unkept,
        )
    return RunResult(evidence, fault)


def _did(plan: RunPlan, evidence: CountersEvidence, log: str, seconds: float, command: tuple[str, ...]) -> CounterRun:
    return CounterRun(
        purpose=plan.metrics.purpose,
        metrics_asked=len(plan.metrics.metrics),
        seconds=seconds,
        launches=len(evidence.launches),
        passes=_passes(evidence, log),
        command=command,
    )


def _tool_run(tool: NcuTool, outcome: Outcome, log: str, report_written: bool, filtered: bool) -> ToolRun:
    return ToolRun(
        tool=tool,
        status=outcome.status,
        log=log,
        output=outcome.output_tail,
        report_written=report_written,
        worker_done=outcome.finished,
        side=outcome.side,
        expired_after_s=outcome.expired_after_s,
        filtered=filtered,
    )


def _told_by(outcome: Outcome) -> Fault | None:
    """The worker's own first fault. Whatever stage it was in, it costs the counters alone: the rest is measured."""
    return msgspec.structs.replace(outcome.faults[0], stage="counters") if outcome.faults else None


def _own_launches(
    evidence: CountersEvidence, run: ToolRun, fault: Fault | None, sides: tuple[Side, ...], process_id: int | None
) -> tuple[CountersEvidence, Fault | None]:
    """The launches of the calls, their side told; a fault where none is left and nothing said why."""
    own = with_further_samples(of_process(evidence, process_id))
    if len(sides) == 1:
        own = of_side(own, sides[0])
    if fault is None and not own.launches:
        fault = no_kernels(run) if evidence.launches else empty_report(run)
    return own, fault


def _passes(evidence: CountersEvidence, log: str) -> int | None:
    """Most passes of one launch, as the report has it, else as the log does."""
    found = [launch.metrics.get(_PASSES) for launch in evidence.launches]
    numbers = [int(passes) for passes in found if isinstance(passes, float)]
    return max(numbers, default=None) if numbers else most_passes(log)
