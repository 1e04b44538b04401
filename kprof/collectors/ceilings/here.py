"""The measured roofs of the device of a run: from the cache, and on the CPU else measured in a second."""

from __future__ import annotations

from pathlib import Path

import torch

from kprof.ceilings_cache import cached_ceilings, keep_ceilings
from kprof.ceilings_evidence import CeilingsEvidence
from kprof.collectors.ceilings.collect import collect_ceilings
from kprof.evidence import Environment


def ceilings_here(device: torch.device, environment: Environment, cache_root: Path) -> CeilingsEvidence | None:
    """What the floor of a run on this device may rest on; None: it was not measured, or cannot be.

    Args:
        device: of the run.
        environment: what it is.
        cache_root: kprof's cache.
    """
    kept = cached_ceilings(environment, cache_root)
    if kept is not None or device.type != "cpu":
        return kept
    try:
        *_, ceilings = collect_ceilings(device, cache_root, quick=True)
    except (RuntimeError, MemoryError, OSError):  # No room for the arrays: the floor stays unknown, the rest goes on.
        return None
    if not ceilings.warnings:
        keep_ceilings(ceilings, cache_root)
    return ceilings
