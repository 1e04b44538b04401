"""From how a run of ncu ended to why it did not deliver: one code a cause, with the hint that mends it.

The texts are ncu's own, of 2020 to 2026, as its users' logs have them. Its exit status alone says little: it is 0 where
permission is missing, and the program's own where the program failed.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kprof.collectors.ncu_run.preflight import PERMISSION_HINT
from kprof.collectors.ncu_run.tool import NcuTool, chips_hint
from kprof.collectors.ncu_run.tool_log import errors_in, logged_launches, own_lines
from kprof.evidence import SIDE_NAMES, Fault, Reason, Side

_DETAIL_CHARS: Final = 4000
_APPLICATION: Final = re.compile(r"The application returned an error code \((\d+)\)")
_DEVICE_FAULT: Final = re.compile(
    r"\b(LaunchFailed|IllegalAddress|MisalignedAddress|IllegalInstruction|LaunchTimeout|HardwareStackError)\b"
)
"""Faults of a kernel as ncu names them: LaunchFailed on an H200 (2025.3.1), the others after the driver's names."""
_NO_KERNELS: Final = "No kernels were profiled"


@dataclass(frozen=True)
class ToolRun:
    """How one run of ncu ended."""

    tool: NcuTool
    status: int | None
    """Exit status, negative for a signal; None where it did not end by itself."""
    log: str
    """Its log file."""
    output: str
    """What it and the worker printed, the end of it."""
    report_written: bool
    worker_done: bool = False
    """The worker came to its own end."""
    side: Side | None = None
    """Whose code ran last."""
    expired_after_s: float | None = None
    filtered: bool = False
    """Kernels were picked by name."""
    program: str = "the worker"
    """What ncu started."""


@dataclass(frozen=True)
class _Cause:
    """A text of ncu's, and what it means."""

    pattern: re.Pattern[str]
    code: str
    message: str
    hint: Callable[[NcuTool], str]


def _cause(pattern: str, code: str, message: str, hint: str | Callable[[NcuTool], str]) -> _Cause:
    def told(tool: NcuTool) -> str:
        return hint(tool) if callable(hint) else hint

    return _Cause(re.compile(pattern, re.IGNORECASE), code, message, told)


_CAUSES: Final = (
    _cause(
        r"ERR_NVGPUCTRPERM|permission to access NVIDIA GPU Performance Counters",
        "counters_permission",
        "this user may not read the GPU's performance counters (ERR_NVGPUCTRPERM)",
        PERMISSION_HINT,
    ),
    _cause(
        r"InterprocessLockFailed|lock file",
        "ncu_lock",
        "ncu cannot write its lock file",
        "Give a TMPDIR of your own on a local disk: a lock that another user left behind cannot be taken over.",
    ),
    _cause(
        r"driver is not compatible",
        "ncu_driver_mismatch",
        "the driver is too old for this ncu, or too new",
        lambda tool: (
            f"Run an ncu that fits the driver (this one is {tool.version or 'of unknown version'}): give it with --ncu."
        ),
    ),
    _cause(
        r"Windows Subsystem for Linux|as it uses WSL",
        "wsl",
        "ncu cannot profile this device under WSL",
        "Update Windows, its driver and ncu, or measure on native Linux.",
    ),
    _cause(
        r"\bMIG\b|Multi-Instance GPU|\bvGPU\b",
        "mig",
        "ncu cannot profile this slice of a board (MIG or vGPU)",
        "Use a whole board, or a GPU instance with one compute instance; on a vGPU the host must enable profiling.",
    ),
    _cause(
        r"\bMPS\b|Multi-Process Service",
        "mps",
        "ncu cannot profile under the Multi-Process Service",
        "Stop MPS for this run (echo quit | nvidia-cuda-mps-control).",
    ),
    _cause(
        r"Profiling is not supported on device",
        "ncu_unsupported_chip",
        "this ncu does not profile this chip",
        chips_hint,
    ),
    _cause(
        r"driver resource was unavailable|hardware.?busy|already (?:in use|under profiling)|\bDCGM\b",
        "counters_busy",
        "another tool holds the performance counters",
        "Stop it meanwhile: dcgmi profile --pause (DCGM, dcgm-exporter), another ncu, nsys --gpu-metrics-devices.",
    ),
)  # fmt: skip


def failure(run: ToolRun, told: Fault | None = None) -> Fault | None:
    """Why a run did not deliver all it should, or None where nothing is known against it.

    Args:
        run: how it ended.
        told: the worker's own fault, which stands unless ncu says that it could not profile at all.
    """
    if run.expired_after_s is not None:
        return _fault(_timeout_reason(run, run.expired_after_s), run)
    errors = errors_in(run.log, run.output)
    for cause in _CAUSES:
        if any(cause.pattern.search(error) for error in errors):
            return _fault(Reason(code=cause.code, message=cause.message, hint=cause.hint(run.tool)), run)
    program = told or _program_failure(run, errors)
    if program is not None:
        return program
    if run.status != 0:
        return _fault(_other_reason(run, errors), run)
    if not run.report_written:
        return _fault(_nothing_reason(run), run)
    return None


def empty_report(run: ToolRun) -> Fault:
    """The fault of a report that holds no launches."""
    return _fault(_EMPTY, run)


def no_kernels(run: ToolRun) -> Fault:
    """The fault of a run none of whose launches are the calls' own."""
    return _fault(_no_kernels_reason(run.filtered), run)


def unreadable_report(run: ToolRun, reason: Reason) -> Fault:
    """The fault of a report that cannot be read."""
    return _fault(reason, run)


def not_started(reason: Reason) -> Fault:
    """The fault where ncu was not even started."""
    return Fault(stage="counters", side=None, code=reason.code, message=reason.message, hint=reason.hint)


_EMPTY: Final = Reason(
    code="ncu_empty_report",
    message="ncu ended without an error, and what it wrote holds no launches",
    hint="All that it printed is in faults[].detail.",
)


def _fault(reason: Reason, run: ToolRun, side: Side | None = None) -> Fault:
    detail = own_lines(run.log, run.output) or "\n".join(filter(None, (run.log.strip(), run.output.strip())))
    return Fault(
        stage="counters",
        side=side,
        code=reason.code,
        message=reason.message,
        hint=reason.hint,
        detail=detail[-_DETAIL_CHARS:],
    )


def _timeout_reason(run: ToolRun, limit_s: float) -> Reason:
    launches = logged_launches(run.log) or logged_launches(run.output)
    where = "no kernel had been profiled yet"
    if launches:
        last = launches[-1]
        doing = "it was profiling" if last.passes is None else "the last kernel that it had profiled was"
        where = f'{doing} "{last.name}" (launch {last.position})'
    return Reason(
        code="ncu_timeout",
        message=f"ncu took more than {limit_s:g} s and was ended; {where}",
        hint="Kernels that wait for each other never end under ncu, which runs them one at a time: pick others with "
        "--kernel. If it is only slow, raise --timeout or lower --max-launches.",
    )


def _program_failure(run: ToolRun, errors: tuple[str, ...]) -> Fault | None:
    """What the worker itself ran into, where it could not tell: a fault on the device, a crash, an exit of its own.

    A program that ended with an error, where ncu has errors of its own, was ended by ncu (with status 9).
    """
    who = f"the {SIDE_NAMES[run.side]}" if run.side is not None else run.program
    device = next((found[1] for error in errors if (found := _DEVICE_FAULT.search(error))), None)
    if device is not None:
        message = f"{who} failed on the device under ncu: {device}"
        hint = "Run it under compute-sanitizer; check index arithmetic and launch limits."
        return _fault(Reason(code="cuda_error", message=message, hint=hint), run, run.side)
    ended = _APPLICATION.fullmatch(errors[0].rstrip(".")) if len(errors) == 1 else None
    if ended is None or run.worker_done:
        return None
    code = int(ended[1])
    name = _signal_name(code)
    if name is not None:
        message = f"{who} ended {run.program} under ncu: {name}"
        hint = "Run the kernel under compute-sanitizer or a debugger; the end of its output may say why."
        return _fault(Reason(code="crashed", message=message, hint=hint), run, run.side)
    message = f"{who} ended {run.program} under ncu with status {code}"
    hint = "Something called os._exit or sys.exit: the code named must return instead."
    return _fault(Reason(code="exited", message=message, hint=hint), run, run.side)


def _signal_name(code: int) -> str | None:
    """ncu gives the bare number of a signal, as it does a status: those taken for signals are no usual statuses."""
    if code not in (signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV):
        return None
    return signal.Signals(code).name


def _other_reason(run: ToolRun, errors: tuple[str, ...]) -> Reason:
    status = run.status if run.status is not None else 0
    how = f"died of signal {-status}" if status < 0 else f"ended with status {status}"
    return Reason(
        code="ncu_failed",
        message=f"ncu {how}" + (f": {errors[0][:300]}" if errors else ""),
        hint="Its own lines are in faults[].detail; another ncu can be given with --ncu.",
    )


def _nothing_reason(run: ToolRun) -> Reason:
    if _NO_KERNELS not in own_lines(run.log, run.output):
        return _EMPTY
    return _no_kernels_reason(run.filtered)


def _no_kernels_reason(filtered: bool) -> Reason:
    hint = (
        "No kernel's name matches --kernel: it is a regular expression on names without namespaces and parameters."
        if filtered
        else "The calls launched nothing on the device in the worker's own process: kprof follows no others."
    )
    return Reason(code="ncu_no_kernels", message="ncu ran to its end and profiled no kernel", hint=hint)
