"""Nsight Compute: is it there, does it know this chip, and does it really read counters here?"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kprof.collectors.ncu.reading import read_report
from kprof.collectors.ncu_run.failures import ToolRun, empty_report, failure
from kprof.collectors.ncu_run.preflight import permission_reason
from kprof.collectors.ncu_run.tool import NcuTool, describe_ncu, find_ncu
from kprof.counters.names import DURATION
from kprof.counters.resolve import resolve
from kprof.errors import CannotMeasureError, KprofError
from kprof.evidence import Reason
from kprof.subprocesses.asking import ask_program

PROFILE_S: Final = 30.0
"""Longest wait for a profile of one kernel, which takes 2 to 4 s."""
_CYCLES: Final = "sm__cycles_elapsed.max"


@dataclass(frozen=True)
class Profiling:
    """What was found of ncu and of its leave to read counters."""

    tool: NcuTool | None = None
    absent: Reason | None = None
    """Why there is no ncu."""
    permission: Reason | None = None
    """What the driver's parameters say against it."""
    duration_us: float | None = None
    """What the one kernel took by its counters."""
    refused: Reason | None = None
    """Why they were not read."""


def look_at_profiling(asked: str | None, cache_root: Path, device_index: int | None) -> Profiling:
    """Find ncu, ask it about itself, and have it profile one kernel.

    Args:
        asked: the ncu that the user named.
        cache_root: kprof's cache.
        device_index: as CUDA counts them; None: there is no device to try it on.
    """
    try:
        tool = describe_ncu(find_ncu(asked), cache_root)
    except CannotMeasureError as error:
        absent = Reason(code=error.code, message=error.message, hint=error.hint)
        return Profiling(absent=absent, permission=permission_reason())
    if device_index is None:
        return Profiling(tool=tool, permission=permission_reason())
    try:
        duration, refused = _profile_one_kernel(tool, device_index)
    except OSError as error:
        message = f"no temporary file can be written: {error.strerror or error}"
        duration, refused = None, Reason(code="no_temporary_folder", message=message, hint="Set TMPDIR.")
    return Profiling(tool=tool, permission=permission_reason(), duration_us=duration, refused=refused)


def _profile_one_kernel(tool: NcuTool, index: int) -> tuple[float | None, Reason | None]:
    """Microseconds by the counters, or why there are none."""
    with tempfile.TemporaryDirectory(prefix="kprof-doctor-", ignore_cleanup_errors=True) as folder:
        report, log = Path(folder) / "one.ncu-rep", Path(folder) / "log"
        command = [
            str(tool.path), "--target-processes", "all", "--clock-control", "none",
            "--metrics", f"{DURATION},{_CYCLES}", "--force-overwrite", "--export", str(report), "--log-file", str(log),
            sys.executable, "-m", "kprof.collectors.one_kernel", str(index),
        ]  # fmt: skip
        answer = ask_program(command, PROFILE_S)
        if answer is None:
            return None, Reason(code="ncu_failed", message=f"{tool.path} cannot be started", hint="Give --ncu PATH.")
        run = ToolRun(
            tool=tool,
            status=answer.status,
            log=log.read_text(errors="replace") if log.exists() else "",
            output=answer.output,
            report_written=report.exists(),
            expired_after_s=None if answer.status is not None else PROFILE_S,
        )
        fault = failure(run)
        if fault is not None:
            return None, fault.reason
        try:
            launches = read_report(report, allow_empty=True).launches
        except KprofError as error:
            return None, Reason(code="ncu_unreadable_report", message=error.message, hint=error.hint)
        duration_ns = resolve(launches[0]).duration_ns if launches else None
        return (None, empty_report(run).reason) if duration_ns is None else (duration_ns / 1e3, None)
