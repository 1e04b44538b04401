"""Runs compute-sanitizer round kprof's worker, a tool at a time, each over one call of the kernel."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from kprof.collectors.sanitizer.log import MOST_FINDINGS, NOTHING_RAN, UNSUPPORTED, LogFindings, own_errors, read_log
from kprof.collectors.sanitizer.tool import Sanitizer, find_sanitizer, sanitizer_command
from kprof.errors import CannotMeasureError
from kprof.evidence import Environment, Reason
from kprof.files import read_text
from kprof.sanitizer_evidence import SanitizerEvidence, SanitizerRun, SanitizerTool
from kprof.worker.outcome import Outcome
from kprof.worker.protocol import Request, Update
from kprof.worker.supervisor import Limits, Tool, Worker

LOG_FILE: Final = "sanitizer.log"
_LINES: Final = "-lineinfo"
_EXACT: Final = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
"""Each tensor is an allocation of its own: inside torch's large ones nothing is out of bounds and all was written."""
_ALLOCATES_BADLY: Final = ("raised", "cuda_error", "out_of_memory")
"""What a kernel ends with that cannot do with that: allocations while a CUDA graph is captured, above all."""
_DETAIL_CHARS: Final = 600


@dataclass(frozen=True)
class _Around:
    """What all runs share."""

    sanitizer: Sanitizer
    request: Request
    limits: Limits
    on_update: Callable[[Update], None]


def collect_sanitizer(
    request: Request,
    tools: tuple[SanitizerTool, ...],
    limits: Limits,
    on_update: Callable[[Update], None],
    *,
    environment: Environment,
    builds: bool,
) -> SanitizerEvidence:
    """What each tool finds in one call of the kernel. Nothing that goes wrong with it is raised.

    Args:
        request: what a worker is to load; its stages are set here.
        tools: which, in this order.
        limits: bounds on each run's time.
        on_update: told of each update of the worker's.
        environment: of the device that was measured.
        builds: the files compile extensions, which are built again with line information first.
    """
    request = msgspec.structs.replace(request, stages=("sanitizer",), describe=False, held=False, takes_turn=False)
    try:
        if not environment.device.startswith("cuda"):
            raise CannotMeasureError(
                "no_cuda_device",
                f"compute-sanitizer checks code on an NVIDIA GPU; the device is {environment.device}",
                "Run the same command on a machine with an NVIDIA GPU.",
            )
        around = _Around(find_sanitizer(), request, limits, on_update)
    except CannotMeasureError as error:
        absent = Reason(code=error.code, message=error.message, hint=error.hint)
        return SanitizerEvidence(runs=tuple(SanitizerRun(tool=tool, absent=absent) for tool in tools))
    if builds:
        _build_with_lines(around)
    return SanitizerEvidence(version=around.sanitizer.version, runs=tuple(_run(around, tool) for tool in tools))


def _build_with_lines(around: _Around) -> None:
    """Compile before the tool slows the compiler down. Where that fails the runs say so themselves."""
    request = msgspec.structs.replace(around.request, stages=())
    with Worker(request, tool=Tool(lambda folder: (), _flags())) as worker:
        worker.follow(around.limits, around.on_update)


def _flags() -> dict[str, str]:
    """Line information changes no code, only where it is kept: in a cache entry of its own."""
    return {"NVCC_APPEND_FLAGS": " ".join(filter(None, (os.environ.get("NVCC_APPEND_FLAGS"), _LINES)))}


def _run(around: _Around, tool: SanitizerTool) -> SanitizerRun:
    """One tool, with an allocation for each tensor; once more with torch's own where the kernel cannot do with that."""
    run = _run_once(around, tool, _EXACT)
    if run.absent is not None and run.absent.code in _ALLOCATES_BADLY and not run.findings:
        return _run_once(around, tool, {})
    return run


def _run_once(around: _Around, tool: SanitizerTool, allocation: dict[str, str]) -> SanitizerRun:
    environment = {"LC_ALL": "C", "KPROF_UNDER_SANITIZER": tool, **_flags(), **allocation}
    program = Tool(lambda folder: sanitizer_command(around.sanitizer, tool, folder / LOG_FILE), environment)
    began = time.monotonic()
    with Worker(around.request, tool=program) as worker:
        outcome = worker.follow(around.limits, around.on_update)
        log = read_text(worker.folder / LOG_FILE)
    found = read_log(log)
    return SanitizerRun(
        tool=tool,
        absent=_why_not_sure(tool, outcome, found, log),
        findings=found.findings[:MOST_FINDINGS],
        errors=found.errors,
        left_out=max(0, len(found.findings) - MOST_FINDINGS),
        seconds=time.monotonic() - began,
        command=worker.command,
    )


def _why_not_sure(tool: SanitizerTool, outcome: Outcome, found: LogFindings, log: str) -> Reason | None:
    """Why the tool's silence would mean nothing; None: it watched the call to its end, or found what ended it."""
    if outcome.expired_after_s is not None:
        return Reason(
            code="sanitizer_timeout",
            message=f"{tool} took more than {outcome.expired_after_s:g} s and was ended",
            hint="Use smaller shapes (--set), or raise --timeout: a checked kernel runs 10 to 1000 times slower.",
        )
    if UNSUPPORTED.search(log):
        return _said(
            "sanitizer_unsupported", "compute-sanitizer does not check this device or driver", log, "Update it."
        )
    if any(finding.severity == "error" for finding in found.findings):
        # What it found ended the call, and often the process.
        return None
    told = outcome.faults[0] if outcome.faults else outcome.fault
    if told is not None:
        return Reason(code=told.code, message=f"under {tool} {told.message}", hint=told.hint)
    if found.errors is not None and not NOTHING_RAN.search(log):
        return None
    if NOTHING_RAN.search(log):
        return Reason(code="sanitizer_nothing_ran", message=f"the call launched nothing that {tool} could check")
    status = f"with status {outcome.status}" if outcome.status is not None else "without a status"
    return _said(
        "sanitizer_failed", f"compute-sanitizer ended {status} before it was done", log, "Run it by itself to see more."
    )


def _said(code: str, message: str, log: str, hint: str) -> Reason:
    said = re.sub(r"\s+", " ", own_errors(log))[:_DETAIL_CHARS]
    return Reason(code=code, message=f"{message}: {said}" if said else message, hint=hint)
