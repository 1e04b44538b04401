"""What torch says of itself, for ``kprof doctor``: versions, compiler, devices, one kernel under its profiler."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import msgspec
import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from kprof.collectors.build_key import compiler_version, nvcc_path
from kprof.collectors.environment import board_uuid, installed_version, resolve_device
from kprof.errors import first_line
from kprof.evidence import Reason
from kprof.installation import Installation, TorchDevice


def describe_installation(asked: str) -> Iterator[Installation]:
    """What there is; then, on a CUDA device, the same with what its profiler saw.

    Args:
        asked: the device whose profiler is tried: ``auto``, ``cpu`` or ``cuda:N``.

    Raises:
        NoSuchDeviceError: there is no such device.
    """
    found = Installation(
        torch=str(torch.__version__),
        cuda=torch.version.cuda,
        architectures=tuple(torch.cuda.get_arch_list()) if torch.version.cuda else (),
        triton=installed_version("triton"),
        threads=torch.get_num_threads(),
        nvcc=nvcc_path(),
        nvcc_version=compiler_version("nvcc"),
        devices=(devices := _devices()),
        no_devices=None if devices else _why_none(),
    )
    yield found
    device = resolve_device(asked)
    if device.type == "cuda":
        yield _profiled(found, device)


def _devices() -> tuple[TorchDevice, ...]:
    if not torch.cuda.is_available():
        return ()
    return tuple(_device(index) for index in range(torch.cuda.device_count()))


def _device(index: int) -> TorchDevice:
    properties = torch.cuda.get_device_properties(index)
    return TorchDevice(
        name=properties.name,
        uuid=board_uuid(torch.device("cuda", index)),
        compute_capability=f"{properties.major}.{properties.minor}",
        sm_count=properties.multi_processor_count,
        memory_bytes=properties.total_memory,
    )


def _why_none() -> str:
    """What torch says when it is asked for a device that it does not have."""
    if torch.version.cuda is None:
        return "this build of torch is for the CPU"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.cuda.init()  # type: ignore[no-untyped-call]
    except (RuntimeError, AssertionError) as error:
        return first_line(error)
    return "CUDA starts, and has no device (CUDA_VISIBLE_DEVICES may hide them)"


def _profiled(found: Installation, device: torch.device) -> Installation:
    """One small kernel under torch.profiler, which needs CUPTI to see it."""
    try:
        values = torch.zeros(1024, device=device)
        torch.cuda.synchronize(device)
        with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as session:
            values.add_(1)
            torch.cuda.synchronize(device)
        seen = sum(event.device_type == DeviceType.CUDA for event in session.events() or ())
    except RuntimeError as error:
        reason = Reason(code="profiler_failed", message=f"torch.profiler: {first_line(error)}")
        return msgspec.structs.replace(found, profiler_absent=reason)
    return msgspec.structs.replace(found, profiled_kernels=seen)
