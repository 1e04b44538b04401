"""The kernels of ``kernels/ceilings``: built by nvcc alone, once an architecture, and launched through ctypes."""

from __future__ import annotations

import ctypes
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from kprof.collectors.build_key import compiler_version
from kprof.collectors.probes.build import compile_file
from kprof.collectors.probes.toolchain import find_nvcc
from kprof.errors import CannotMeasureError
from kprof.resources import resource_dir

_SOURCE: Final = "ceilings.cu"
_BUILD_S: Final = 120.0
_TAIL_CHARS: Final = 300


@dataclass(frozen=True)
class Grid:
    """How a kernel is launched: blocks, threads a block, turns of its loop."""

    blocks: int
    threads: int
    turns: int = 1

    @property
    def all_threads(self) -> int:
        return self.blocks * self.threads


class CeilingKernels:
    """The launchers of one built library.

    Args:
        library: see `build_kernels`.
        device: where they are launched, on torch's current stream.
    """

    def __init__(self, library: Path, device: torch.device) -> None:
        self._library, self._device = ctypes.CDLL(str(library)), device

    def launch(
        self,
        name: str,
        grid: Grid,
        a: Tensor | None = None,
        b: Tensor | None = None,
        c: Tensor | None = None,
        n16: int = 0,
    ) -> None:
        """Queue one kernel.

        Args:
            name: of the launcher.
            grid: its shape and its turns.
            a: first buffer; b, c: the others.
            n16: size of each buffer in pieces of 16 bytes.

        Raises:
            CannotMeasureError: the launch was refused.
        """
        buffers = [ctypes.c_void_p(None if tensor is None else tensor.data_ptr()) for tensor in (a, b, c)]
        stream = ctypes.c_void_p(torch.cuda.current_stream(self._device).cuda_stream)
        status = getattr(self._library, name)(
            *buffers, ctypes.c_size_t(n16), grid.turns, grid.blocks, grid.threads, stream
        )
        if status != 0:
            message = f"the kernel {name} was not launched: CUDA error {status}"
            raise CannotMeasureError("launch_failed", message, "Report it with this message.")


def build_kernels(device: torch.device, cache_root: Path) -> Path:
    """The library for a device, from the cache where it was built before.

    Raises:
        CannotMeasureError: there is no nvcc, it fails, or the cache cannot be written.
    """
    major, minor = torch.cuda.get_device_capability(device)
    return _build(find_nvcc(), f"sm_{major}{minor}", cache_root)


def _build(nvcc: str | Path, architecture: str, cache_root: Path) -> Path:
    source = resource_dir("kernels/ceilings") / _SOURCE
    key = hashlib.sha256(source.read_bytes() + f"{compiler_version('nvcc')} {architecture}".encode())
    library = cache_root / "ceilings" / f"kernels-{key.hexdigest()[:20]}.so"
    if library.exists():
        return library
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        flags = ("-O3", "-std=c++17", f"-arch={architecture}", "-shared", "-Xcompiler", "-fPIC")
        said = compile_file((nvcc, *flags), source, library, _BUILD_S)
        if said is not None:
            tail = said.strip()[-_TAIL_CHARS:]
            hint = "kprof doctor says what is wrong with the compiler."
            raise CannotMeasureError("compile_failed", f"nvcc does not build {source.name}: {tail}", hint)
    except OSError as error:
        hint = "Point KPROF_CACHE_DIR at a folder that can be written and has room."
        raise CannotMeasureError("cache_not_writable", f"cannot build in {library.parent}: {error}", hint) from error
    return library
