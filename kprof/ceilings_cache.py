"""Measured ceilings in kprof's cache: one file a board, driver and versions, or a processor, torch and threads."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from pathlib import Path

from kprof.ceilings_evidence import CEILINGS_VERSION, CeilingsEvidence, decode_ceilings, encode_ceilings
from kprof.errors import InputFileError, UsageError
from kprof.evidence import Environment
from kprof.files import write_whole


def cached_ceilings(of: Environment | CeilingsEvidence, cache_root: Path) -> CeilingsEvidence | None:
    """What was measured on this very device with these very versions; None: nothing, or nothing that can be read."""
    file = _file(of, cache_root)
    try:
        return decode_ceilings(file.read_bytes(), str(file))
    except (OSError, InputFileError):
        return None


def keep_ceilings(ceilings: CeilingsEvidence, cache_root: Path) -> Path | None:
    """Write them to the cache; None where it cannot be written, which costs time alone."""
    file = _file(ceilings, cache_root)
    with contextlib.suppress(OSError, UsageError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, encode_ceilings(ceilings))
        return file
    return None


def _file(of: Environment | CeilingsEvidence, cache_root: Path) -> Path:
    on_gpu = of.device.startswith("cuda")
    # A folder may be shared by machines: processors have no UUID, so the machine's name stands for them.
    place = (of.gpu_uuid, of.driver, of.cuda) if on_gpu else (platform.node(), of.cpu_threads, _processors())
    about = (CEILINGS_VERSION, of.device_name, of.memory_bytes, of.torch, *place)
    return cache_root / "ceilings" / f"{hashlib.sha256(repr(about).encode()).hexdigest()[:20]}.json"


def _processors() -> int | None:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
