"""What each side launches, and how long it keeps the device busy, from one session of torch.profiler.

One session a process: each later one loses more of its first events (pytorch#192021), so this runs once, in a worker
process of its own. Kernel and reference share the session. It holds, per side, throw-away calls, plain calls on an
empty queue (the launches), and on CUDA calls behind a queue that is kept full (the device spans), cold and warm.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from time import perf_counter  # By name: user code may replace the module's functions.
from typing import TYPE_CHECKING, Any, Final

import torch

from kprof.collectors.launches.profiled_session import (
    RUNS_A_PROFILER,
    CudaTurn,
    Session,
    Subject,
    new_profiler,
    profilers_noted,
    read_profile,
    require_running,
)
from kprof.collectors.launches.trace import TraceEvents
from kprof.collectors.launches.window_evidence import evidence_from_trace
from kprof.collectors.synchronise import synchronise
from kprof.collectors.timing.sampling import MAX_KEPT
from kprof.errors import CannotMeasureError
from kprof.evidence import LaunchesEvidence, Reason, Side, SideLaunches
from kprof.trees import clone_tree

if TYPE_CHECKING:
    from kprof.workload import LoadedWorkload

WARM_UP_S: Final = 0.2
WARM_UP_CALLS: Final = 3


def collect_launches(
    workload: LoadedWorkload, *, seed: int, enter: Callable[[Side], None], spans: int = 200, budget_s: float = 1.0
) -> LaunchesEvidence:
    """Profile both sides on equal inputs. To be called once in a process.

    Args:
        workload: both sides, loaded.
        seed: of the inputs.
        enter: told whose code runs next.
        spans: device spans wanted, a side and cache state; at most `MAX_KEPT`.
        budget_s: wall time of the span samples; one turn of both sides is taken whatever it lasts, unless it alone
            would take four times this.

    Returns:
        Launches of both sides and, on CUDA, series of device spans (timer ``cupti``, cold and warm). What cannot be
        had is absent with its reason. Whatever user code raises is passed on.
    """
    with torch.no_grad(), _current(workload.device):
        on_cuda = workload.device.type == "cuda"
        subjects = _warmed_up(workload, seed, enter)
        if torch.autograd._profiler_enabled():  # type: ignore[attr-defined]
            return _without(subjects, _PROFILER_RUNNING)
        quiet = [subject for subject in subjects if not subject.runs_a_profiler]
        if not quiet:
            return _with_loud_ones(LaunchesEvidence(), subjects, ())
        session = Session(quiet, enter, CudaTurn(workload.device) if on_cuda else None)
        try:
            events = _profiled(lambda: session.run(min(spans, MAX_KEPT), budget_s), on_cuda)
        except CannotMeasureError as error:
            return _without(subjects, Reason(code=error.code, message=error.message, hint=error.hint))
    evidence = evidence_from_trace(events, session.recording())
    return _with_loud_ones(evidence, subjects, tuple(session.warnings))


_PROFILER_RUNNING: Final = Reason(
    code="profiler_already_running",
    message="a torch profiler is running in this process already, and there can be one only",
    hint="Do not start a profiler in the kernel's or the reference's file.",
)


def _without(subjects: list[Subject], reason: Reason) -> LaunchesEvidence:
    sides = {subject.side: SideLaunches(absent=reason) for subject in subjects}
    return LaunchesEvidence(kernel=sides.get("kernel"), ref=sides.get("ref"))


def _with_loud_ones(
    evidence: LaunchesEvidence, subjects: list[Subject], warnings: tuple[Reason, ...]
) -> LaunchesEvidence:
    """The evidence with the sides that could not be in the session, and the session's own warnings."""
    loud = {
        subject.side: SideLaunches(absent=RUNS_A_PROFILER, warnings=(RUNS_A_PROFILER,))
        for subject in subjects
        if subject.runs_a_profiler
    }
    return LaunchesEvidence(
        kernel=loud.get("kernel", evidence.kernel),
        ref=loud.get("ref", evidence.ref),
        series=evidence.series,
        warnings=(*evidence.warnings, *warnings),
    )


def _current(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    return torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()


def _warmed_up(workload: LoadedWorkload, seed: int, enter: Callable[[Side], None]) -> list[Subject]:
    """Both sides with inputs of their own, equal in value, called until they are warm."""
    enter(workload.inputs_side)
    inputs = workload.inputs(seed)
    subjects = [Subject("kernel", partial(workload.kernel, *inputs))]
    if workload.ref is not None:
        # Before the kernel runs, which might write to its own.
        subjects.append(Subject("ref", partial(workload.ref, *clone_tree(inputs))))
    for subject in subjects:
        enter(subject.side)
        _warm_up(subject, workload.device)
    return subjects


def _warm_up(subject: Subject, device: torch.device) -> None:
    """Call by time, so that compilers, caches and clocks have settled; note whether the call starts a profiler."""
    began, calls_s = perf_counter(), list[float]()
    with profilers_noted() as started:
        while len(calls_s) < WARM_UP_CALLS or perf_counter() - began < WARM_UP_S:
            call_began = perf_counter()
            subject.run()
            synchronise(device)
            calls_s.append(perf_counter() - call_began)
    subject.call_us = min(calls_s) * 1e6
    subject.runs_a_profiler = bool(started)


def _profiled(session: Callable[[], None], on_cuda: bool) -> TraceEvents:
    """Run ``session`` under the profiler and read what it recorded.

    Raises:
        CannotMeasureError: the trace cannot be written or read.
    """
    with new_profiler(on_cuda=on_cuda) as profiler:
        session()
        require_running()
    return read_profile(profiler)
