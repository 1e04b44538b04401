"""From what was raised in the worker to a fault: whose it is, in which stage, under which code."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch

from kprof.collectors.build import BuildError, needs_cuda
from kprof.collectors.environment import NoSuchDeviceError
from kprof.collectors.precision.chunks import is_out_of_memory
from kprof.collectors.precision.collect import SideError
from kprof.errors import CannotMeasureError, first_line, text_of
from kprof.evidence import SIDE_NAMES, Fault, Reason, Side, Stage
from kprof.worker.answers import Answers
from kprof.worker.protocol import Request
from kprof.worker.traces import full_trace, user_trace
from kprof.workload import WorkloadError

_NO_CUDA: Final = ("Torch not compiled with CUDA enabled", "No CUDA GPUs are available", "Found no NVIDIA driver")


def as_fault(error: BaseException, answers: Answers, request: Request, device: torch.device) -> Fault:
    """The fault that ``error``, caught in the stage that ``answers`` is in, amounts to."""
    cause, side = (error.error, error.side) if isinstance(error, SideError) else (error, answers.side)
    stage: Stage = "build" if isinstance(cause, BuildError) else answers.stage
    if side is not None and _asks_for_missing_cuda(cause, device):
        name = Path((request.workload.ref_file if side == "ref" else None) or request.workload.kernel_file).name
        cause = needs_cuda(side, f"{name} uses CUDA")
    if isinstance(cause, WorkloadError):
        reason = Reason(code=cause.code, message=cause.message, hint=cause.hint)
        # Its own lines are kprof's; what user code raised is its cause.
        trace = user_trace(cause.__cause__) if cause.__cause__ is not None else ""
        return _fault(stage, cause.side, reason, cause.detail or trace)
    if isinstance(cause, CannotMeasureError):
        reason = Reason(code=cause.code, message=cause.message, hint=cause.hint)
        return _fault(stage, None, reason, user_trace(cause))
    if isinstance(cause, NoSuchDeviceError):
        reason = Reason(code="no_such_device", message=str(cause), hint=_device_hint())
        return _fault(stage, None, reason, "")
    return _fault(stage, side, _classify(cause, stage, side), full_trace(cause) if side is None else user_trace(cause))


def _device_hint() -> str:
    return "Give --device auto, or one of those." if torch.cuda.is_available() else "Give --device auto or cpu."


def _fault(stage: Stage, side: Side | None, reason: Reason, detail: str) -> Fault:
    return Fault(stage=stage, side=side, code=reason.code, message=reason.message, hint=reason.hint, detail=detail)


def _classify(error: BaseException, stage: Stage, side: Side | None) -> Reason:
    """A stable code for what a side's call raised."""
    who = f"the {SIDE_NAMES[side]}" if side is not None else "kprof"
    text = text_of(error)
    what = f"{who} raised {type(error).__name__}: {first_line(error)} (in the {stage} stage)"
    if is_out_of_memory(error):
        return Reason(
            code="out_of_memory",
            message=f"{who} ran out of memory in the {stage} stage: {first_line(error)}",
            hint="Use smaller shapes (--set), or a device with more memory.",
        )
    if side is None:
        return Reason(code="internal_error", message=what, hint="A fault of kprof's own: report it with its detail.")
    if "CUDA error" in text or type(error).__name__ == "AcceleratorError":
        return Reason(
            code="cuda_error",
            message=what,
            hint="Run it under compute-sanitizer; check index arithmetic and launch limits.",
        )
    return Reason(code="raised", message=what, hint="Its traceback is in faults[].detail of the report.")


def _asks_for_missing_cuda(error: BaseException, device: torch.device) -> bool:
    """The error says that code wants CUDA or Triton's driver where the device is the CPU."""
    if device.type == "cuda":
        return False
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and not any(link is seen for seen in chain):
        chain.append(link)
        link = link.__cause__ or link.__context__
    return any(
        (isinstance(e, ModuleNotFoundError) and str(e.name).split(".")[0] == "triton")
        or any(text in text_of(e) for text in (*_NO_CUDA, "0 active drivers"))
        for e in chain
    )


def context_is_lost(device: torch.device) -> bool:
    """A fault in a kernel poisons the CUDA context: every later call in this process fails."""
    if device.type != "cuda":
        return False
    try:
        torch.cuda.synchronize(device)
        torch.zeros(1, device=device).item()
    except RuntimeError:
        return True
    return False
