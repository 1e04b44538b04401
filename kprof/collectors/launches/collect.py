"""What each side launches, and how long it keeps the device busy, from one session of torch.profiler.

One session a process: each later one loses more of its first events (pytorch#192021), so this runs once, in a worker
process of its own. Kernel and reference share the session. It holds, per side, throw-away calls, plain calls on an
empty queue (the launches), and on CUDA calls behind a queue that is kept full (the device spans), cold and warm.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from secrets import randbits  # By name: user code may replace the module's functions.
from time import perf_counter  # By name: user code may replace the module's functions.
from typing import TYPE_CHECKING, Any, Final

import msgspec
import torch

from kprof.collectors.integrity.contents import Content, layout
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
from kprof.collectors.precision.collect import collect_precision
from kprof.collectors.precision.comparison import compare_trees
from kprof.collectors.precision.originals import original_torch
from kprof.collectors.precision.poison import sizes_of
from kprof.collectors.precision.weights import BufferSnapshot
from kprof.collectors.synchronise import synchronise
from kprof.collectors.timing.sampling import MAX_KEPT
from kprof.errors import CannotMeasureError
from kprof.evidence import Reason, Side
from kprof.launches_evidence import LaunchesEvidence, SideLaunches
from kprof.precision_evidence import INCONCLUSIVE_CODES, Mismatch
from kprof.trees import clone_tree
from kprof.workload import seed_everything

if TYPE_CHECKING:
    from kprof.workload import LoadedWorkload

WARM_UP_S: Final = 0.2
WARM_UP_CALLS: Final = 3
_MOST_OTHER_BYTES: Final = 64_000_000
_MOST_CALL_US: Final = 200_000.0
"""Results under the profiler are compared where both sides are quick, for it takes some calls more."""


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
        subjects, comparable = _warmed_up(workload, seed, enter)
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
        mismatches = _mismatches(quiet, workload.widened) if comparable else None
    evidence = evidence_from_trace(events, session.recording())
    evidence = msgspec.structs.replace(evidence, output_mismatches=mismatches)
    return _with_loud_ones(evidence, subjects, tuple(session.warnings))


def _mismatches(subjects: list[Subject], widened: dict[str, float]) -> tuple[Mismatch, ...] | None:
    """How the kernel's result differs from the reference's; None: there are not both."""
    outputs = {subject.side: subject.output for subject in subjects}
    for subject in subjects:
        subject.output = None
    if len(outputs) < 2:
        return None
    with original_torch():
        found = compare_trees(outputs["kernel"], outputs["ref"], widened=widened).mismatches
    return tuple(one for one in found if one.code not in INCONCLUSIVE_CODES)


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
    return msgspec.structs.replace(
        evidence,
        kernel=loud.get("kernel", evidence.kernel),
        ref=loud.get("ref", evidence.ref),
        warnings=(*evidence.warnings, *warnings),
    )


def _current(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    return torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()


def _warmed_up(workload: LoadedWorkload, seed: int, enter: Callable[[Side], None]) -> tuple[list[Subject], bool]:
    """Both sides with inputs of their own, equal in value, called until they are warm.

    Small inputs have other values until then, so that the profiled calls are the first to see theirs: a kernel that
    does nothing under a profiler has no answer to them.

    Returns:
        Both sides, and whether their results in the session can be compared.
    """
    enter(workload.inputs_side)
    inputs = workload.inputs(seed)
    other_seed = randbits(31)
    others = _other_values(workload, inputs, other_seed)
    models: dict[Side, Callable[..., Any]] = {"kernel": workload.kernel}
    if workload.ref is not None:
        models["ref"] = workload.ref
    # All before the kernel runs, which might write to its own.
    given = {side: clone_tree(inputs if others is None else others) for side in models}
    subjects = [
        Subject(side, partial(model, *given[side]), restore=_restorer(model, seed)) for side, model in models.items()
    ]
    for subject in subjects:
        enter(subject.side)
        _warm_up(subject, workload.device)
    comparable = others is not None and _made_comparable(workload, subjects, other_seed, enter)
    for subject in subjects:
        subject.run = partial(models[subject.side], *Content("repeated", inputs).write_to(given[subject.side]))
    synchronise(workload.device)
    return subjects, comparable


def _other_values(workload: LoadedWorkload, inputs: list[Any], seed: int) -> list[Any] | None:
    """Inputs of the same kind with other values; None: they would take long to make, or have other shapes."""
    if sum(sizes_of(inputs)) > _MOST_OTHER_BYTES:
        return None
    others = workload.inputs(seed)
    return others if layout(others) == layout(inputs) else None


def _made_comparable(
    workload: LoadedWorkload, subjects: list[Subject], seed: int, enter: Callable[[Side], None]
) -> bool:
    """Give the kernel the reference's weights where their results differ without, as the precision trials do."""
    if workload.ref is None or any(subject.call_us > _MOST_CALL_US for subject in subjects):
        return False
    trials = list(collect_precision(workload, trials=1, seed=seed, enter=lambda side: enter(side) if side else None))
    return trials[-1].weights != "not_comparable"


def _restorer(model: Any, seed: int) -> Callable[[], None]:
    buffers = BufferSnapshot(model)

    def restore() -> None:
        buffers.restore()
        seed_everything(seed)

    return restore


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
