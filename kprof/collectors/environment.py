"""What machine and software a run was made on."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path

import torch

from kprof.collectors.build_key import compiler_version
from kprof.collectors.clocks import ClockMonitor
from kprof.collectors.tf32 import convolution_may_use_tf32, matmul_may_use_tf32
from kprof.evidence import ClockReading, Environment


class NoSuchDeviceError(Exception):
    """The device asked for is not here; the text says which are."""


def resolve_device(asked: str) -> torch.device:
    """The device for ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        NoSuchDeviceError: no such device here.
    """
    if asked == "cpu" or (asked == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    try:
        device = torch.device("cuda:0" if asked in ("auto", "cuda") else asked)
    except RuntimeError:
        device = torch.device("meta")
    if device.type != "cuda":
        raise NoSuchDeviceError(f"--device {asked}: kprof measures on cpu and on cuda:N")
    index = device.index or 0
    if index >= count:
        present = ", ".join(f"cuda:{i}" for i in range(count)) or "no CUDA device"
        raise NoSuchDeviceError(f"--device {asked}: {present} here")
    return torch.device("cuda", index)


def collect_environment(device: torch.device) -> Environment:
    """Versions, device properties and the clocks of now."""
    shared = {
        "torch": str(torch.__version__),
        "triton": installed_version("triton"),
        "python": platform.python_version(),
        "compiler": compiler_version(os.environ.get("CXX", "c++")),
        "cpu_threads": torch.get_num_threads(),
    }
    if device.type != "cuda":
        return Environment(device="cpu", device_name=_processor_name(), memory_bytes=_memory_bytes(), **shared)  # type: ignore[arg-type]
    properties = torch.cuda.get_device_properties(device)
    uuid = board_uuid(device)
    monitor = ClockMonitor(uuid)
    return Environment(
        device=str(device),
        device_name=properties.name,
        gpu_uuid=uuid,
        compute_capability=f"{properties.major}.{properties.minor}",
        sm_count=properties.multi_processor_count,
        l2_bytes=getattr(properties, "L2_cache_size", None),
        memory_bytes=properties.total_memory,
        driver=monitor.driver,
        cuda=torch.version.cuda,
        tf32_matmul=matmul_may_use_tf32(),
        tf32_cudnn=convolution_may_use_tf32(),
        clocks_before=monitor.read(),
        clocks_reason=monitor.reason,
        **shared,  # type: ignore[arg-type]
    )


def read_clocks(device: torch.device) -> ClockReading | None:
    """The board's clocks of now; None on the CPU and where NVML does not answer."""
    return ClockMonitor(board_uuid(device)).read() if device.type == "cuda" else None


def board_uuid(device: torch.device) -> str | None:
    """The board's UUID in NVML's form (``GPU-...``); None where torch does not tell it."""
    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    if uuid is None:
        return None
    text = str(uuid)
    return text if text.startswith(("GPU-", "MIG-")) else f"GPU-{text}"


def installed_version(package: str) -> str | None:
    """Version of an installed distribution; None where there is none of that name."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor_name() -> str | None:
    """The processor's name as the kernel tells it (Linux), else as the interpreter does."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or None)


def _memory_bytes() -> int | None:
    if sys.platform != "linux":
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
