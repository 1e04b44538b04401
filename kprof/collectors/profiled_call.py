"""The calls that Nsight Compute profiles: warmed up, then one of each side inside a range that ncu is told of.

Runs in a worker that ncu started with ``--profile-from-start off``: nothing but these calls is profiled, whatever is
launched before, between and after. The range carries the side's name, as an NVTX start/end range, which crosses
threads (a backward pass launches from another thread than the call).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from kprof.collectors.ncu.sides import RANGE_OF_SIDE, SAMPLES_RANGE
from kprof.collectors.timing.sampling import SamplingPolicy
from kprof.collectors.timing.timers import Timers, warm_up
from kprof.counter_evidence import SAMPLED_CALLS
from kprof.errors import CannotMeasureError
from kprof.evidence import Side
from kprof.trees import clone_tree

if TYPE_CHECKING:
    from kprof.workload import LoadedWorkload


def profile_calls(
    workload: LoadedWorkload,
    *,
    seed: int,
    enter: Callable[[Side], None],
    sides: tuple[Side, ...],
    sampled: tuple[Side, ...] = (),
    profiled: Callable[[Side], AbstractContextManager[None]] | None = None,
) -> None:
    """Call each side until it is warm, then once in a range of its own, on inputs equal to those that are timed.

    All sides are warm before the first range opens: autotuning, compilers and library handles launch kernels too.

    Args:
        workload: both sides, loaded.
        seed: of the inputs.
        enter: told whose code runs next.
        sides: whose calls are profiled; one that is not loaded is left out.
        sampled: those of them that are called `SAMPLED_CALLS` times more, in a range that says so.
        profiled: opens and closes the range; None: CUDA's.

    Raises:
        CannotMeasureError: the device is no CUDA device. Whatever user code raises is passed on.
    """
    profiled = profiled or _range_on(workload.device)
    models: dict[Side, Callable[..., Any] | None] = {"kernel": workload.kernel, "ref": workload.ref}
    enter(workload.inputs_side)
    inputs = workload.inputs(seed)
    calls: dict[Side, Callable[[], Any]] = {
        side: partial(model, *clone_tree(inputs)) for side in sides if (model := models[side]) is not None
    }
    with torch.no_grad():
        timers = Timers(workload.device, calls, enter, SamplingPolicy())
        warm_up(timers)
        for side in calls:
            with profiled(side):
                output = timers.call(side)
            del output
        for side in (side for side in sampled if side in calls):
            for _ in range(SAMPLED_CALLS):
                with _range(SAMPLES_RANGE), profiled(side):
                    output = timers.call(side)
                del output


def _range_on(device: torch.device) -> Callable[[Side], AbstractContextManager[None]]:
    if device.type != "cuda":
        raise CannotMeasureError(
            "no_cuda_device",
            f"hardware counters are those of an NVIDIA GPU; the device is {device.type}",
            "Run the same command on a machine with an NVIDIA GPU.",
        )
    return partial(cuda_range, device)


@contextmanager
def _range(name: str) -> Iterator[None]:
    handle = torch.cuda.nvtx.range_start(name)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_end(handle)


@contextmanager
def cuda_range(device: torch.device, side: Side) -> Iterator[None]:
    """Have ncu profile what is launched inside, to its end on the device."""
    torch.cuda.synchronize(device)
    handle = torch.cuda.nvtx.range_start(RANGE_OF_SIDE[side])
    torch.cuda.profiler.start()  # type: ignore[no-untyped-call]
    try:
        yield
        torch.cuda.synchronize(device)
    finally:
        # Unchecked: what the call itself failed with must not be hidden.
        torch.cuda.cudart().cudaProfilerStop()  # type: ignore[no-untyped-call]
        torch.cuda.nvtx.range_end(handle)
