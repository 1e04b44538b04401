"""What torch says of itself and of its devices: the records that ``kprof doctor`` reads."""

from __future__ import annotations

from kprof.evidence import Reason, Record


class TorchDevice(Record, frozen=True, kw_only=True):
    """One CUDA device, as torch counts them (``CUDA_VISIBLE_DEVICES`` hides and renumbers)."""

    name: str
    uuid: str | None
    compute_capability: str
    sm_count: int
    memory_bytes: int


class Installation(Record, frozen=True, kw_only=True):
    """Torch, what it builds extensions with, and what it sees of the GPU."""

    torch: str
    cuda: str | None = None
    """Version of CUDA that torch was built with; None: a build for the CPU."""
    architectures: tuple[str, ...] = ()
    """What torch's own kernels were compiled for: ``sm_90``, ``compute_90``."""
    triton: str | None = None
    threads: int
    nvcc: str | None = None
    """The nvcc that torch would build extensions with."""
    nvcc_version: str | None = None
    devices: tuple[TorchDevice, ...] = ()
    no_devices: str | None = None
    """What torch says where it has no CUDA device."""
    profiled_kernels: int | None = None
    """Kernels that torch.profiler saw of one launch; None: it was not tried, or `profiler_absent` says why."""
    profiler_absent: Reason | None = None
