"""What a build depends on: sources, flags, torch, CUDA, compilers, architecture and processor, as one hash."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import torch
from torch.utils import cpp_extension

# Variables that change what the compilers produce.
_FLAG_VARIABLES: Final = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "NVCC_APPEND_FLAGS",
                          "NVCC_PREPEND_FLAGS", "CUDA_HOME", "CUDA_PATH")  # fmt: skip
# Arguments that name a place or a habit, not a result.
_IGNORED_ARGUMENTS: Final = ("build_directory", "verbose", "keep_intermediates")


def as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def content_hash(arguments: dict[str, Any], with_cuda: bool) -> str:
    """Hash of sources, flags, torch, CUDA, compilers, architecture and processor."""
    asked = {key: value for key, value in arguments.items() if key not in _IGNORED_ARGUMENTS}
    sources = {str(path): _file_hash(Path(path)) for path in as_list(arguments.get("sources"))}
    about = {
        "arguments": asked,
        "sources": sources,
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda if with_cuda else None,
        "compilers": [compiler_version(c) for c in (os.environ.get("CXX", "c++"), *(["nvcc"] if with_cuda else []))],
        "arch": architecture(with_cuda),
        "processor": _processor(),
        "flags": {name: os.environ.get(name) for name in _FLAG_VARIABLES},
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:20]


def _file_hash(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


@functools.cache
def _processor() -> str:
    """What a ``-march=native`` binary depends on: the machine, and the processor's instruction sets."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    flags = next((line for line in text.splitlines() if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()} {hashlib.sha256(flags.encode()).hexdigest()[:12]}"


@functools.cache
def compiler_version(command: str) -> str | None:
    """The line with the version that a compiler prints; None where it is not found or does not answer in 20 s."""
    path = nvcc_path() if command == "nvcc" else shutil.which(command.split()[0]) if command else None
    if path is None:
        return None
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.strip().splitlines()
    if not lines:
        return None
    return lines[-1] if command == "nvcc" else lines[0]


def nvcc_path() -> str | None:
    home = cpp_extension.CUDA_HOME
    beside = Path(home) / "bin" / "nvcc" if home else None
    return str(beside) if beside is not None and beside.exists() else shutil.which("nvcc")


def choose_cuda_arch(device: torch.device, asked: str | None) -> str:
    """The value of TORCH_CUDA_ARCH_LIST for one device alone.

    An architecture-specific variant of this very device (``9.0a``) that the caller's list holds is kept, since code
    with wgmma needs it.
    """
    major, minor = torch.cuda.get_device_capability(device)
    own = f"{major}.{minor}"
    listed = re.split(r"[;\s]+", asked or "")
    return next((entry for entry in listed if re.fullmatch(rf"{re.escape(own)}[af]", entry)), own)


def architecture(with_cuda: bool) -> str:
    if not with_cuda:
        return platform.machine()
    return "sm_" + os.environ.get("TORCH_CUDA_ARCH_LIST", "").replace(".", "")
