"""Compiles the probes: a library each, all at once, and the program that runs them. Kept in kprof's cache."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kprof import cache
from kprof.collectors.probes.toolchain import nvcc_version
from kprof.errors import CannotMeasureError
from kprof.evidence import Reason
from kprof.subprocesses.asking import ask_program

RUNNER: Final = "run_probes"
COMPILE_S: Final = 180.0
"""Longest wait for one compilation; one takes 2 s on its own."""
_FLAGS: Final = ("-O3", "-std=c++17")
_LIBRARY: Final = ("-shared", "-Xcompiler", "-fPIC")
_PROGRAM: Final = ("-ldl",)
_ERROR_LINE: Final = re.compile(r"^.*(?:\berror\b|fatal|not found|No such file).*$", re.MULTILINE | re.IGNORECASE)
_LOG_CHARS: Final = 4000
_VARIANTS: Final = {(9, 0): "90a"}
"""Targets with instructions of their own beyond the plain one: wgmma is in sm_90a alone."""


@dataclass(frozen=True)
class BuiltProbes:
    """What was compiled."""

    runner: Path
    libraries: dict[str, Path]
    """By probe, in the order asked for."""
    failed: dict[str, Reason]
    logs: dict[str, str]
    """What the compiler said of those that failed."""
    nvcc: str | None
    """Its version."""


def target_of(capability: tuple[int, int]) -> str:
    """nvcc's number for a compute capability."""
    return _VARIANTS.get(capability, f"{capability[0]}{capability[1]}")


def build_probes(
    nvcc: Path, sources: Path, names: Sequence[str], capability: tuple[int, int], cache_root: Path
) -> BuiltProbes:
    """Compile what is not in the cache yet. A probe that does not compile stops none of the others.

    Args:
        nvcc: the compiler.
        sources: the folder of the probes.
        names: the probes to build.
        capability: of the device that they are to run on.
        cache_root: kprof's cache.

    Raises:
        CannotMeasureError: ``compile_failed``: the program that runs them does not compile; ``cache_not_writable``.
    """
    version = nvcc_version(nvcc)
    target = target_of(capability)
    folder = cache.extensions_dir(cache_root) / f"probes-{_content_hash(sources, version, target)}"
    flags = (*_FLAGS, f"-gencode=arch=compute_{target},code=sm_{target}")
    targets = {RUNNER: folder / RUNNER, **{name: folder / f"{name}.so" for name in names}}
    try:
        with cache.locked(folder):
            waiting = {name: path for name, path in targets.items() if not path.exists()}

            def compiled(name: str) -> str | None:
                kind = _PROGRAM if name == RUNNER else _LIBRARY
                return compile_file((nvcc, *flags, *kind), sources / f"{name}.cu", waiting[name], COMPILE_S)

            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                said = dict(zip(waiting, pool.map(compiled, waiting), strict=True))
            cache.mark_used(folder)
    except OSError as error:
        raise CannotMeasureError(
            "cache_not_writable",
            f"cannot build in {folder}: {error.strerror or error}",
            "Point KPROF_CACHE_DIR at a folder that can be written and has room.",
        ) from error
    cache.evict(cache_root, cache.cache_max_bytes(), keep=folder)
    logs = {name: log for name, log in said.items() if log is not None}
    if RUNNER in logs:
        reason = compile_reason(RUNNER, logs[RUNNER])
        raise CannotMeasureError(reason.code, reason.message, reason.hint)
    failed = {name: compile_reason(name, log) for name, log in logs.items()}
    return BuiltProbes(targets[RUNNER], {n: targets[n] for n in names if n not in failed}, failed, logs, version)


def compile_file(compiler: tuple[str | Path, ...], source: Path, target: Path, limit_s: float) -> str | None:
    """Compile one file; what the compiler said where it failed, else None."""
    # Renamed when it is whole: what a killed compiler leaves must not pass for a library.
    made = target.with_name(f".{target.name}.{os.getpid()}")
    answer = ask_program((*compiler, source, "-o", made), limit_s)
    if answer is None:
        return f"{compiler[0]} does not start"
    if answer.status != 0:
        made.unlink(missing_ok=True)
        return answer.output[-_LOG_CHARS:] if answer.status is not None else f"not over after {limit_s:g} s"
    made.replace(target)
    return None


def compile_reason(name: str, log: str) -> Reason:
    """Why a probe was not built, from what the compiler said."""
    found = _ERROR_LINE.search(log)
    line = found[0].strip() if found else next(iter(log.strip().splitlines()), "the compiler said nothing")
    return Reason(
        code="compile_failed",
        message=f"{name}.cu: {line[:300]}",
        hint="nvcc must know this board's architecture, and needs a C++ compiler that it supports.",
    )


def _content_hash(sources: Path, version: str | None, target: str) -> str:
    """Of all that the result depends on."""
    digest = hashlib.sha256(repr((version, target, _FLAGS, os.environ.get("NVCC_APPEND_FLAGS"))).encode())
    for path in sorted((*sources.glob("*.cu"), *sources.glob("*.h"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:20]
