"""Extension builds: one build per content, in kprof's cache, watched and timed.

torch's ``load_inline`` and ``load`` are wrapped while user files run in the worker. Each call gets a build folder named
by the hash of all that the result depends on, so the same source never compiles twice and different sources never share
a folder. The wrapper asks for nothing of the files: they call torch as they always do.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import inspect
import json
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch
from torch.utils import cpp_extension

from kprof import cache
from kprof.evidence import Side, SideBuild
from kprof.workload import WorkloadError

_LOG_TAIL_CHARS: Final = 8000
# Variables that change what the compilers produce.
_FLAG_VARIABLES: Final = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "NVCC_APPEND_FLAGS",
                          "NVCC_PREPEND_FLAGS", "CUDA_HOME", "CUDA_PATH")  # fmt: skip
# Arguments that name a place or a habit, not a result.
_IGNORED_ARGUMENTS: Final = ("build_directory", "verbose", "keep_intermediates")
_CANNOT_WRITE: Final = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR, errno.EEXIST)
_ERROR_LINE: Final = re.compile(r"^.*?(?:fatal error|\berror)(?:\s*:|\s+[A-Z#]?\d+\s*:)\s*.*$", re.MULTILINE)


class BuildError(WorkloadError):
    """An extension did not build."""


def needs_cuda(side: Side, what: str) -> WorkloadError:
    """The error for code that asks for CUDA where there is none: ``what`` says what was seen."""
    return WorkloadError(
        side,
        "needs_cuda",
        f"{what}, and there is no CUDA device here",
        "Run it on a machine with an NVIDIA GPU; a capture made there with --save-capture can be read here with "
        "kprof analyze --capture.",
    )


@dataclass
class BuildWatch:
    """Wraps torch's extension builders and keeps what they did, by side."""

    cache_root: Path
    device: torch.device
    on_building: Callable[[str], None]
    """Called with the extension's name before a build and with an empty string after it."""
    side: Side = "kernel"
    builds: dict[Side, list[SideBuild]] = field(default_factory=dict)
    cuda: dict[Side, bool] = field(default_factory=dict)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """The builders are wrapped inside this context."""
        originals = {name: getattr(cpp_extension, name) for name in ("load_inline", "load")}
        for name, original in originals.items():
            setattr(cpp_extension, name, self._wrapped(original))
        try:
            yield
        finally:
            for name, original in originals.items():
                setattr(cpp_extension, name, original)

    def extensions(self, side: Side) -> tuple[tuple[str, bool], ...]:
        """Names of the extensions that ``side`` built, and whether CUDA was among their sources."""
        return tuple((build.extensions[0], self.cuda.get(side, False)) for build in self.builds.get(side, ()))

    def side_build(self, side: Side) -> SideBuild:
        """What ``side`` has built so far, added up."""
        builds = self.builds.get(side, [])
        return SideBuild(
            extensions=tuple(name for build in builds for name in build.extensions),
            seconds=sum(build.seconds for build in builds),
            cached=all(build.cached for build in builds),
            arch=next((build.arch for build in builds), None),
            log_tail="\n".join(build.log_tail for build in builds if build.log_tail)[-_LOG_TAIL_CHARS:],
        )

    def _wrapped(self, original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def build(*args: Any, **kwargs: Any) -> Any:
            arguments = signature.bind(*args, **kwargs).arguments
            return self._build(original, arguments)

        return build

    def _build(self, original: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        name = str(arguments["name"])
        with_cuda = _asks_for_cuda(arguments)
        if with_cuda and self.device.type != "cuda":
            raise needs_cuda(self.side, f"extension {name!r} has CUDA sources")
        self.cuda[self.side] = self.cuda.get(self.side, False) or with_cuda
        _require_compilers(self.side, with_cuda)
        folder = cache.extensions_dir(self.cache_root) / f"{_safe(name)}-{_content_hash(arguments, with_cuda)}"
        self.on_building(name)
        began = time.perf_counter()
        try:
            module, cached = self._build_locked(original, arguments, folder)
        finally:
            self.on_building("")
        self.builds.setdefault(self.side, []).append(
            SideBuild(
                extensions=(name,),
                seconds=time.perf_counter() - began,
                cached=cached,
                arch=_architecture(with_cuda),
                log_tail="",
            )
        )
        return module

    def _build_locked(self, original: Callable[..., Any], arguments: dict[str, Any], folder: Path) -> tuple[Any, bool]:
        try:
            with cache.locked(folder):
                # Whoever builds here holds our lock: a lock file of torch's own is left from a build that was killed.
                (folder / "lock").unlink(missing_ok=True)
                before = _libraries(folder)
                _forget_version(str(arguments["name"]))
                module = original(**{**arguments, "build_directory": str(folder), "verbose": False})
                cache.mark_used(folder)
                cached = bool(before) and _libraries(folder) == before
        except OSError as error:
            if error.errno not in _CANNOT_WRITE:
                raise
            raise BuildError(
                self.side,
                "cache_not_writable",
                f"cannot build in {folder}: {error.strerror or error}",
                "Point KPROF_CACHE_DIR at a folder that can be written and has room.",
            ) from error
        except RuntimeError as error:
            raise _compile_error(self.side, str(arguments["name"]), error, folder) from error
        if not cached:
            cache.evict(self.cache_root, cache.cache_max_bytes(), keep=folder)
        return module, cached


def _asks_for_cuda(arguments: dict[str, Any]) -> bool:
    if arguments.get("with_cuda") is not None:
        return bool(arguments["with_cuda"])
    if arguments.get("cuda_sources"):
        return True
    return any(str(path).endswith((".cu", ".cuh")) for path in _as_list(arguments.get("sources")))


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:60]


def _content_hash(arguments: dict[str, Any], with_cuda: bool) -> str:
    """Hash of sources, flags, torch, CUDA, compilers, architecture and processor."""
    asked = {key: value for key, value in arguments.items() if key not in _IGNORED_ARGUMENTS}
    sources = {str(path): _file_hash(Path(path)) for path in _as_list(arguments.get("sources"))}
    about = {
        "arguments": asked,
        "sources": sources,
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda if with_cuda else None,
        "compilers": [compiler_version(c) for c in (os.environ.get("CXX", "c++"), *(["nvcc"] if with_cuda else []))],
        "arch": _architecture(with_cuda),
        "processor": _processor(),
        "flags": {name: os.environ.get(name) for name in _FLAG_VARIABLES},
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:20]


def _file_hash(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _processor() -> str:
    """What a ``-march=native`` binary depends on: the machine, and the processor's instruction sets."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    flags = next((line for line in text.splitlines() if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()} {hashlib.sha256(flags.encode()).hexdigest()[:12]}"


def compiler_version(command: str) -> str | None:
    """The line with the version that a compiler prints; None where it is not found or does not answer in 20 s."""
    path = _nvcc() if command == "nvcc" else shutil.which(command.split()[0]) if command else None
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


def _nvcc() -> str | None:
    home = cpp_extension.CUDA_HOME
    beside = Path(home) / "bin" / "nvcc" if home else None
    return str(beside) if beside is not None and beside.exists() else shutil.which("nvcc")


def _require_compilers(side: Side, with_cuda: bool) -> None:
    compiler = os.environ.get("CXX", "c++").split()[0]
    if shutil.which(compiler) is None:
        message = f"no C++ compiler: {compiler!r} is not on PATH"
        raise BuildError(side, "compiler_missing", message, "Install g++, or set CXX to a compiler.")
    if with_cuda and _nvcc() is None:
        raise BuildError(
            side,
            "nvcc_missing",
            "no nvcc: CUDA_HOME is not set and nvcc is not on PATH",
            "Install the CUDA toolkit of torch's CUDA version, or set CUDA_HOME to where it is.",
        )


def choose_cuda_arch(device: torch.device, asked: str | None) -> str:
    """The value of TORCH_CUDA_ARCH_LIST for one device alone.

    An architecture-specific variant of this very device (``9.0a``) that the caller's list holds is kept, since code
    with wgmma needs it.
    """
    major, minor = torch.cuda.get_device_capability(device)
    own = f"{major}.{minor}"
    listed = re.split(r"[;\s]+", asked or "")
    return next((entry for entry in listed if re.fullmatch(rf"{re.escape(own)}[af]", entry)), own)


def _architecture(with_cuda: bool) -> str:
    if not with_cuda:
        return platform.machine()
    return "sm_" + os.environ.get("TORCH_CUDA_ARCH_LIST", "").replace(".", "")


def _libraries(folder: Path) -> dict[str, int]:
    """Name and change time of each library in ``folder``: equal before and after means that nothing was linked."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.so")}


def _forget_version(name: str) -> None:
    """Make torch name the library after the extension alone.

    torch counts up a version when one process builds two extensions of one name, and the library's name with it. Our
    folders are apart by content already, and a name that depends on the order of loading would compile again.
    """
    versioner = getattr(cpp_extension, "JIT_EXTENSION_VERSIONER", None)
    if versioner is not None:
        versioner.entries.pop(name, None)


def _compile_error(side: Side, name: str, error: RuntimeError, folder: Path) -> BuildError:
    log = str(error).strip()
    first = _ERROR_LINE.search(log)
    line = first.group(0).strip() if first else next(iter(log.splitlines()), "no output")
    message = f"extension {name!r}: {line.replace(f'{folder}/', '')[:300]}"
    return BuildError(side, "compile_failed", message, "Mend the line named.", log[-_LOG_TAIL_CHARS:])
