"""Runs the probes, timed by events or under ncu, and reads what their program prints."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from kprof.collectors.ncu.reading import read_report
from kprof.collectors.ncu_run.command_line import REPLAY_MODE, RunSettings, ncu_command
from kprof.collectors.ncu_run.failures import ToolRun, failure
from kprof.collectors.ncu_run.kept import keep_report
from kprof.collectors.ncu_run.request import MetricRequest, default_request, tensor_request
from kprof.collectors.ncu_run.tool import NcuTool
from kprof.collectors.ncu_run.tool_log import most_passes
from kprof.collectors.probes.build import BuiltProbes
from kprof.counter_evidence import CounterRun, CountersEvidence
from kprof.errors import CannotMeasureError, KprofError
from kprof.evidence import Reason, Record
from kprof.probe_evidence import ProbeBoard, ProbeRun
from kprof.subprocesses.asking import Answer, ask_program
from kprof.subprocesses.private import private_folder

TIMED_S: Final = 120.0
PROFILED_S: Final = 400.0
"""Longest waits: each takes a tenth of it on an H200."""
_LAUNCHES: Final = 1000
_LOG_CHARS: Final = 4_000_000
_ENVIRONMENT: Final = {"KPROF_UNDER_NCU": "1"}


class _Head(Record, frozen=True, kw_only=True):
    """The first line that the program prints."""

    board: ProbeBoard
    empty_pair_us: float | None


@dataclass(frozen=True)
class Ran:
    """What the program said."""

    board: ProbeBoard
    empty_pair_us: float | None
    runs: tuple[ProbeRun, ...]
    lost: dict[str, Reason]
    """Probes that it was asked for and did not come to."""


def time_probes(built: BuiltProbes, device: int, repeats: int) -> Ran:
    """Run every probe ``repeats`` times between events.

    Raises:
        CannotMeasureError: ``probes_failed``: the board cannot be used.
    """
    command = (str(built.runner), "--device", str(device), "--repeats", str(repeats), *_probes(built))
    return read_output(ask_program(command, TIMED_S), tuple(built.libraries))


def read_output(answer: Answer | None, names: Sequence[str]) -> Ran:
    """What the program printed: the board's line, then one a probe; other lines are of no interest.

    Raises:
        CannotMeasureError: ``probes_failed``.
    """
    lines = [] if answer is None else [line for line in answer.output.splitlines() if line.startswith("{")]
    try:
        head = msgspec.json.decode(lines[0], type=_Head) if lines else None
        runs = tuple(msgspec.json.decode(line, type=ProbeRun) for line in lines[1:])
    except msgspec.DecodeError as error:
        raise CannotMeasureError("probes_failed", f"the probes' program printed no JSON: {error}", "") from error
    if head is None or answer is None:
        raise CannotMeasureError("probes_failed", _ending(answer), "Check that the GPU works: nvidia-smi.")
    seen = {run.probe for run in runs}
    reason = Reason(code="probes_failed", message=_ending(answer))
    return Ran(head.board, head.empty_pair_us, runs, {name: reason for name in names if name not in seen})


def _ending(answer: Answer | None) -> str:
    if answer is None:
        return "the probes' program does not start"
    said = next((line for line in reversed(answer.output.splitlines()) if line and not line.startswith("{")), "")
    how = f"ended with status {answer.status}" if answer.status is not None else "did not end in its time"
    return f"the probes' program {how}{': ' if said else ''}{said[:300]}"


def probe_request(known: frozenset[str] | None) -> MetricRequest:
    """kprof's own set, and the sums of the tensor cores, in one run: every probe is asked for all of it."""
    first, sums = default_request(known), tensor_request(known)
    return MetricRequest("default", tuple(dict.fromkeys((*first.metrics, *sums.metrics))))


def profile_probes(
    tool: NcuTool, known: frozenset[str] | None, built: BuiltProbes, device: int, keep: Path | None = None
) -> CountersEvidence:
    """Run every probe once under ncu, with the caches emptied and the clocks left alone, as kprof profiles kernels.

    Args:
        tool: the ncu to start.
        known: metrics that it knows; None: it gave no list.
        built: what to run.
        device: its index among the visible ones.
        keep: where a copy of the report is kept.

    Raises:
        CannotMeasureError: ncu did not deliver; the code says why.
    """
    request = probe_request(known)
    settings = RunSettings(clock_control="none", cache_control="all", launches=_LAUNCHES)
    with private_folder() as folder:
        report, log = Path(folder) / "probes.ncu-rep", Path(folder) / "ncu.log"
        program = (str(built.runner), "--profile", "--device", str(device), *_probes(built))
        command = (*ncu_command(tool, request, settings, report, log), *program)
        began = time.monotonic()
        answer = ask_program(command, PROFILED_S, _ENVIRONMENT)
        seconds = time.monotonic() - began
        said = log.read_text(errors="replace")[:_LOG_CHARS] if log.is_file() else ""
        _require_report(tool, answer, said, report.is_file())
        try:
            evidence = read_report(report)
        except KprofError as error:
            raise CannotMeasureError("ncu_report_unreadable", error.message, error.hint) from error
        kept, unkept = keep_report(report, keep)
    run = CounterRun(
        purpose=request.purpose,
        metrics_asked=len(request.metrics),
        seconds=seconds,
        launches=len(evidence.launches),
        passes=most_passes(said),
        command=tuple(map(str, command)),
    )
    return msgspec.structs.replace(
        evidence,
        clock_control=settings.clock_control,
        cache_control=settings.cache_control,
        replay_mode=REPLAY_MODE,
        runs=(run,),
        report_file=str(kept) if kept is not None else None,
        warnings=evidence.warnings + unkept,
    )


def _require_report(tool: NcuTool, answer: Answer | None, log: str, written: bool) -> None:
    """Raise the reason why a run of ncu brought nothing."""
    if answer is None:
        raise CannotMeasureError("ncu_failed", f"{tool.path} does not start", "Give another ncu with --ncu.")
    run = ToolRun(
        tool=tool,
        status=answer.status,
        log=log,
        output=answer.output,
        report_written=written,
        expired_after_s=PROFILED_S if answer.status is None else None,
        program="the probes' program",
    )
    fault = failure(run)
    if fault is not None and not written:
        raise CannotMeasureError(fault.code, fault.message, fault.hint)


def _probes(built: BuiltProbes) -> tuple[str, ...]:
    return tuple(f"{name}={path}" for name, path in built.libraries.items())
