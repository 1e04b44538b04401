"""What probes are built with and for: nvcc, and the device that they run on."""

from __future__ import annotations

import ctypes
import os
import shutil
import uuid
from pathlib import Path
from typing import Final, NamedTuple

from kprof.errors import CannotMeasureError
from kprof.subprocesses.asking import ask_program

_USUAL_HOME: Final = "/usr/local/cuda"
_DRIVER_LIBRARY: Final = "libcuda.so.1"
_MAJOR: Final = 75
_MINOR: Final = 76
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR (cuda.h)."""
_ANSWER_S: Final = 20.0


def find_nvcc() -> Path:
    """The nvcc that torch would build with: of ``CUDA_HOME``, of ``CUDA_PATH``, on PATH, of /usr/local/cuda.

    Raises:
        CannotMeasureError: ``nvcc_missing``.
    """
    homes = [os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH"), _USUAL_HOME]
    named, usual = (str(Path(home) / "bin" / "nvcc") if home else None for home in homes)
    found = next((path for path in (named, "nvcc", usual) if path and shutil.which(path)), None)
    if found is None:
        raise CannotMeasureError(
            "nvcc_missing",
            "no nvcc: CUDA_HOME is not set and nvcc is not on PATH",
            "Install the CUDA toolkit, or set CUDA_HOME to where it is.",
        )
    return Path(shutil.which(found) or found)


def nvcc_version(nvcc: Path) -> str | None:
    """The line with its release; None where it does not answer."""
    answer = ask_program((nvcc, "--version"), _ANSWER_S)
    if answer is None or answer.status != 0:
        return None
    lines = [line.strip() for line in answer.output.splitlines() if line.strip()]
    return next((line for line in lines if "release" in line), lines[-1] if lines else None)


class CudaDevice(NamedTuple):
    """A device as the driver tells it."""

    capability: tuple[int, int]
    uuid: str
    """As NVML and torch write it: ``GPU-...``."""


def cuda_device(index: int = 0) -> CudaDevice:
    """The device with this index among the visible ones; no context is made on it.

    Raises:
        CannotMeasureError: ``no_cuda_device``.
    """
    try:
        driver = ctypes.CDLL(_DRIVER_LIBRARY)
    except OSError as error:
        raise _no_device(f"no NVIDIA driver is installed ({error})") from error
    handle, count, major, minor = (ctypes.c_int() for _ in range(4))
    own_id = (ctypes.c_ubyte * 16)()
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if status != 0:
        raise _no_device(f"the CUDA driver does not start (error {status})")
    if index >= count.value:
        raise _no_device(f"{count.value} CUDA devices are visible; number {index} was asked for")
    status = (
        driver.cuDeviceGet(ctypes.byref(handle), index)
        or driver.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, handle)
        or driver.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, handle)
        or driver.cuDeviceGetUuid(ctypes.byref(own_id), handle)
    )
    if status != 0:
        raise _no_device(f"the CUDA driver does not describe device {index} (error {status})")
    return CudaDevice((major.value, minor.value), f"GPU-{uuid.UUID(bytes=bytes(own_id))}")


def _no_device(message: str) -> CannotMeasureError:
    return CannotMeasureError(
        "no_cuda_device",
        message,
        "Run it on a machine with an NVIDIA GPU; nvidia-smi must work there, and CUDA_VISIBLE_DEVICES not hide it.",
    )
