"""The faults in how a worker ended, as the command sees them from outside."""

from __future__ import annotations

import signal
from typing import Final

from kprof.evidence import Fault, Side, Stage

_DETAIL_CHARS: Final = 4000
_STACK_CHARS: Final = 12_000
"""A stack has its last call first: with its head cut off the user's lines would go."""
_SIGNAL_HINTS: Final[dict[int, str]] = {
    signal.SIGSEGV: "Run the kernel under compute-sanitizer (CUDA) or a debugger; check its index arithmetic.",
    signal.SIGKILL: "If nobody killed it, the machine ran out of memory: use smaller shapes (--set) or check dmesg.",
    signal.SIGABRT: "An assertion or an uncaught C++ exception: the tail of its output says which.",
}


def build_timeout_fault(name: str, limit_s: float, side: Side | None, output: str) -> Fault:
    """An extension build that took longer than it may."""
    return Fault(
        stage="build",
        side=side,
        code="build_timeout",
        message=f"building {name!r} took more than {limit_s:g} s",
        hint="Raise --build-timeout, or include lighter headers.",
        detail=output[-_DETAIL_CHARS:],
    )


def timeout_fault(stage: Stage, limit_s: float, side: Side | None, output: str) -> Fault:
    """A stage that took longer than it may."""
    return Fault(
        stage=stage,
        side=side,
        code="timeout",
        message=f"the {stage} stage took more than {limit_s:g} s and was ended",
        hint="Its stack, in faults[].detail of the report, shows where it stood; raise --timeout if it is only slow.",
        detail=output[-_STACK_CHARS:],
    )


def exit_fault(status: int, stage: Stage, side: Side | None, output: str) -> Fault:
    """How the worker ended before it said that it was done: by a signal (``status`` below 0) or by itself."""
    if status < 0:
        return Fault(
            stage=stage,
            side=side,
            code="crashed",
            message=f"the worker died of {_signal_name(-status)} in the {stage} stage",
            hint=_SIGNAL_HINTS.get(-status, "The tail of its output may say why."),
            detail=output[-_DETAIL_CHARS:],
        )
    return Fault(
        stage=stage,
        side=side,
        code="exited",
        message=f"the worker ended by itself with status {status} in the {stage} stage",
        hint="Something called os._exit or sys.exit: the code named must return instead.",
        detail=output[-_DETAIL_CHARS:],
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        # Real-time signals have no names in Python, but for the first and the last.
        return f"signal {number}"


def corruption_fault(lines: int, stage: Stage) -> Fault:
    """Lines among a lost worker's answers that are none of its own: some of its answers may be missing with them."""
    return Fault(
        stage=stage,
        side=None,
        code="updates_corrupted",
        message=f"{lines} lines among the worker's answers could not be read and were left out",
        hint="Something wrote to kprof's private file: code must write only to file descriptors that it opened.",
    )


def forgery_fault(received: int, sent: int | None, unreadable: int) -> Fault:
    """More or other answers than the worker says that it sent."""
    told = "not counted" if sent is None else f"{sent} sent"
    return Fault(
        stage="integrity",
        side=None,
        code="answers_forged",
        message=f"{received} answers came in the worker's name, {told}, and {unreadable} lines were none",
        hint="Something wrote to kprof's private file: code must write only to file descriptors that it opened.",
    )
