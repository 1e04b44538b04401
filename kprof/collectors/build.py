"""Extension builds: one build per content, in kprof's cache, watched and timed.

torch's ``load_inline`` and ``load`` are wrapped while user files run in the worker. Each call gets a build folder named
by the hash of all that the result depends on, so the same source never compiles twice and different sources never share
a folder. The wrapper asks for nothing of the files: they call torch as they always do.
"""

from __future__ import annotations

import errno
import functools
import inspect
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch
from torch.utils import cpp_extension

from kprof import cache
from kprof.collectors.build_key import architecture, as_list, content_hash, nvcc_path
from kprof.errors import text_of
from kprof.evidence import Side, SideBuild
from kprof.workload import WorkloadError

_LOG_TAIL_CHARS: Final = 8000
_CANNOT_WRITE: Final = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
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
    _uncallable: set[str] = field(default_factory=set)
    """Extensions without functions for Python."""
    _loaded: dict[Path, Any] = field(default_factory=dict)
    """A file that builds in every call gets the module again, as from torch's own memory of what it loaded."""
    _failed: dict[Path, BuildError] = field(default_factory=dict)
    """What did not compile does not compile the next time either."""

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

    def callable_extensions(self, side: Side) -> frozenset[str]:
        """Names of the extensions that ``side`` built, where calls into each can be seen: its functions are Python's.

        Empty where one is called some other way: loaded for its operators (``torch.ops``) or by ctypes.
        """
        names = frozenset(name for name, _ in self.extensions(side))
        return frozenset() if names & self._uncallable else names

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
        folder = cache.extensions_dir(self.cache_root) / f"{_safe(name)}-{content_hash(arguments, with_cuda)}"
        if folder in self._failed:
            raise self._failed[folder]
        if folder in self._loaded:
            return self._loaded[folder]
        self.on_building(name)
        began = time.perf_counter()
        try:
            module, cached = self._build_locked(original, arguments, folder)
        except BuildError as error:
            self._failed[folder] = error
            raise
        finally:
            self.on_building("")
        self._loaded[folder] = module
        if not any(callable(value) for value in getattr(module, "__dict__", {}).values()):
            self._uncallable.add(name)
        self.builds.setdefault(self.side, []).append(
            SideBuild(
                extensions=(name,),
                seconds=time.perf_counter() - began,
                cached=cached,
                arch=architecture(with_cuda),
                log_tail="",
            )
        )
        return module

    def _build_locked(self, original: Callable[..., Any], arguments: dict[str, Any], folder: Path) -> tuple[Any, bool]:
        try:
            _prepare(folder, self.side)
            with cache.locked(folder):
                # Whoever builds here holds our lock: a lock file of torch's own is left from a build that was killed.
                (folder / "lock").unlink(missing_ok=True)
                cache.discard_if_altered(folder)
                for library in folder.glob("*.so"):
                    if library.stat().st_size == 0:  # left by a full disk; the linker runs again where it is missing
                        library.unlink()
                before = _libraries(folder)
                _forget_version(str(arguments["name"]))
                module = original(**{**arguments, "build_directory": str(folder), "verbose": False})
                cache.mark_used(folder)
                cached = bool(before) and _libraries(folder) == before
                if not cached:
                    cache.seal(folder)
        except OSError as error:
            if error.errno not in _CANNOT_WRITE:
                raise
            raise _not_writable(self.side, folder, error) from error
        except RuntimeError as error:
            raise _compile_error(self.side, str(arguments["name"]), error, folder) from error
        if not cached:
            cache.evict(self.cache_root, cache.cache_max_bytes(), keep=folder)
        return module, cached


def _prepare(folder: Path, side: Side) -> None:
    """Make the folder; whatever stands in the way is the cache's fault and not the file's."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_writable(side, folder, error) from error


def _not_writable(side: Side, folder: Path, error: OSError) -> BuildError:
    return BuildError(
        side,
        "cache_not_writable",
        f"cannot build in {folder}: {error.strerror or error}",
        "Point KPROF_CACHE_DIR at a folder that can be written and has room.",
    )


def _require_compilers(side: Side, with_cuda: bool) -> None:
    compiler = os.environ.get("CXX", "c++").split()[0]
    if shutil.which(compiler) is None:
        message = f"no C++ compiler: {compiler!r} is not on PATH"
        raise BuildError(side, "compiler_missing", message, "Install g++, or set CXX to a compiler.")
    if with_cuda and nvcc_path() is None:
        raise BuildError(
            side,
            "nvcc_missing",
            "no nvcc: CUDA_HOME is not set and nvcc is not on PATH",
            "Install the CUDA toolkit of torch's CUDA version, or set CUDA_HOME to where it is.",
        )


def _asks_for_cuda(arguments: dict[str, Any]) -> bool:
    if arguments.get("with_cuda") is not None:
        return bool(arguments["with_cuda"])
    if arguments.get("cuda_sources"):
        return True
    return any(str(path).endswith((".cu", ".cuh")) for path in as_list(arguments.get("sources")))


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:60]


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
    log = text_of(error).strip()
    first = _ERROR_LINE.search(log)
    line = first.group(0).strip() if first else next(iter(log.splitlines()), "no output")
    message = f"extension {name!r}: {line.replace(f'{folder}/', '')[:300]}"
    return BuildError(side, "compile_failed", message, "Mend the line named.", log[-_LOG_TAIL_CHARS:])
