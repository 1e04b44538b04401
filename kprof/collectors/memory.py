"""Memory that one call takes above what was allocated before it, kernel and reference measured alike.

The level before the call is subtracted: weights, inputs and whatever else lies about count for neither side. A warm
call goes ahead, so that what is allocated once for ever (workspaces, loaded modules) counts for neither side either.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec
import torch
from torch.profiler import record_function

from kprof.collectors.launches.profiled_session import new_profiler, read_profile, require_running
from kprof.collectors.launches.trace import TraceEvents
from kprof.errors import CannotMeasureError
from kprof.evidence import MemoryEvidence, Reason, Side, SideMemory

if TYPE_CHECKING:
    from kprof.workload import LoadedWorkload

_WINDOW: Final = "kprof.window:memory"
_KNOWN_BACKENDS: Final = ("native", "cudaMallocAsync")


def collect_memory(workload: LoadedWorkload, *, seed: int, enter: Callable[[Side], None]) -> Iterator[MemoryEvidence]:
    """Measure the kernel, then the reference where there is one; what is known by then is yielded after each.

    On CUDA (method ``torch_cuda_allocator``) the peak is that of torch's caching allocator, and
    ``device_delta_bytes`` is what the device lost during the call outside that allocator: a raw cudaMalloc that the
    call keeps. It does not see memory taken and given back within the call, nor what an earlier call keeps and this
    one uses again; other processes on the board move it too, and it is negative where memory was given back.

    On the CPU (method ``torch_cpu_allocator``) the peak is the running sum of the allocations that torch.profiler
    reports for torch's own allocator. Not seen: memory taken otherwise (malloc, new, numpy), by threads of the
    kernel's own, and the release of what was allocated before the warm call.

    Args:
        workload: both sides, loaded.
        seed: of the inputs, made anew for each side.
        enter: told whose code runs next.

    What cannot be had is absent with its reason. Whatever user code raises is passed on.
    """
    on_cuda = workload.device.type == "cuda"
    evidence = MemoryEvidence(method="torch_cuda_allocator" if on_cuda else "torch_cpu_allocator")
    calls: tuple[tuple[Side, Callable[..., Any] | None], ...] = (("kernel", workload.kernel), ("ref", workload.ref))
    for side, call in calls:
        if call is None:
            continue
        enter(workload.inputs_side)
        inputs = workload.inputs(seed)
        enter(side)
        with torch.no_grad():
            measured = _on_cuda(workload.device, call, inputs) if on_cuda else _on_cpu(call, inputs)
        # Gone before the other side's are made: the two are never held at once.
        del inputs
        evidence = msgspec.structs.replace(evidence, **{side: measured})
        yield evidence


def _on_cuda(device: torch.device, call: Callable[..., Any], inputs: list[Any]) -> SideMemory:
    backend = torch.cuda.memory.get_allocator_backend()
    if backend not in _KNOWN_BACKENDS:
        return SideMemory(peak_bytes=None, absent=_no_statistics(backend))
    with torch.cuda.device(device):
        call(*inputs)
        torch.cuda.synchronize(device)
        # Before the level is read: what the collector frees later would count against the call.
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        outside_before = _outside_torch(device)
        # Kept until the levels are read, so that memory which the output holds counts.
        output = call(*inputs)
        torch.cuda.synchronize(device)
        peak = torch.cuda.max_memory_allocated(device) - before
        outside = _outside_torch(device) - outside_before
        del output
        return SideMemory(peak_bytes=peak, device_delta_bytes=outside)


def _no_statistics(backend: str) -> Reason:
    return Reason(
        code="pluggable_allocator",
        message=f"torch's CUDA allocator was replaced ({backend}); it keeps no peak",
        hint="Leave torch.cuda.memory.change_current_allocator out of the file.",
    )


def _outside_torch(device: torch.device) -> int:
    """Bytes in use on the device that torch's allocator does not hold: contexts, raw cudaMalloc, other processes."""
    free, total = torch.cuda.mem_get_info(device)
    return int(total - free - torch.cuda.memory_reserved(device))


def _on_cpu(call: Callable[..., Any], inputs: list[Any]) -> SideMemory:
    try:
        with new_profiler(on_cuda=False, memory=True) as profiler:
            # The warm call is inside: torch tells of releases only for what it saw allocated.
            call(*inputs)
            gc.collect()
            with record_function(_WINDOW):
                output = call(*inputs)
            del output
            require_running()
        peak = peak_above_start(read_profile(profiler), _WINDOW)
    except CannotMeasureError as error:
        return SideMemory(peak_bytes=None, absent=Reason(code=error.code, message=error.message, hint=error.hint))
    return SideMemory(peak_bytes=peak, absent=None if peak is not None else _INCOMPLETE)


_INCOMPLETE: Final = Reason(
    code="incomplete_trace",
    message="the profiler's trace does not hold the whole call",
    hint="Run it again; if it stays, use smaller shapes (--set).",
)


def peak_above_start(events: TraceEvents, window: str) -> int | None:
    """Highest level of the CPU allocator within an annotated window, above the level at its start.

    None where the trace does not hold the window, or ends too early to tell.
    """
    marks = [event for event in events.annotations if event.name == window]
    if not marks or not events.complete:
        return None
    mark = min(marks, key=lambda event: event.start_ns)
    level = peak = 0
    for change in sorted(events.memory, key=lambda item: item.at_ns):
        if change.on_cpu and mark.start_ns <= change.at_ns < mark.end_ns:
            level += change.change_bytes
            peak = max(peak, level)
    return peak
