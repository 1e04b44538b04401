"""The one call of the kernel that compute-sanitizer watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from kprof.collectors.synchronise import synchronise
from kprof.evidence import Side

if TYPE_CHECKING:
    from kprof.workload import LoadedWorkload


def call_once(workload: LoadedWorkload, *, seed: int, enter: Callable[[Side], None]) -> None:
    """Call the kernel once on fresh inputs, to its end on the device, and read nothing of its result.

    What it was given is not cloned, and its result not copied: either would be a read of what may not be written.
    """
    enter(workload.inputs_side)
    inputs = workload.inputs(seed)
    enter("kernel")
    with torch.no_grad():
        output = workload.kernel(*inputs)
        synchronise(workload.device)
    del output
