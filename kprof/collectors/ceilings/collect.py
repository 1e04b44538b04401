"""All roofs of one device, as evidence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from time import perf_counter

import torch

from kprof import __version__
from kprof.ceilings_evidence import CeilingsEvidence, MeasuredCeiling
from kprof.collectors.ceilings.cpu import Contention, cpu_ceilings
from kprof.collectors.ceilings.cuda import cuda_ceilings
from kprof.collectors.environment import collect_environment
from kprof.evidence import Environment, Reason


def collect_ceilings(device: torch.device, cache_root: Path, *, quick: bool = False) -> Iterator[CeilingsEvidence]:
    """Measure them, one after the other; each answer holds all those before it.

    Args:
        device: where.
        cache_root: kprof's cache, for what is compiled.
        quick: on the CPU: about a second in all.
    """
    began = perf_counter()
    environment = collect_environment(device)
    measured: dict[tuple[str, int | None], MeasuredCeiling] = {}
    absent: dict[str, Reason] = {}
    contention = Contention() if device.type == "cpu" else None

    def so_far(*warnings: Reason) -> CeilingsEvidence:
        kept = tuple(measured.values())
        missing = {name: why for name, why in absent.items() if all(one.name != name for one in kept)}
        return _evidence(environment, perf_counter() - began, quick, kept, missing, warnings)

    for one in cuda_ceilings(device, cache_root) if device.type == "cuda" else cpu_ceilings(quick=quick):
        if isinstance(one, tuple):
            absent[one[0]] = one[1]
        else:
            _keep(one, measured)
        yield so_far()
    samples = sum(one.samples for one in measured.values())
    warning = contention.warning(samples) if contention is not None else None
    yield so_far(*([warning] if warning is not None else []))


def _keep(one: MeasuredCeiling, measured: dict[tuple[str, int | None], MeasuredCeiling]) -> None:
    """Of two ways to the same roof the faster one."""
    key = (one.name, one.footprint_bytes)
    before = measured.get(key)
    if before is None or before.median < one.median:
        measured[key] = one


def _evidence(
    environment: Environment,
    seconds: float,
    quick: bool,
    measured: tuple[MeasuredCeiling, ...],
    absent: dict[str, Reason],
    warnings: tuple[Reason, ...],
) -> CeilingsEvidence:
    return CeilingsEvidence(
        kprof_version=__version__,
        created=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        device=environment.device,
        device_name=environment.device_name,
        gpu_uuid=environment.gpu_uuid,
        memory_bytes=environment.memory_bytes,
        l2_bytes=environment.l2_bytes,
        driver=environment.driver,
        cuda=environment.cuda,
        torch=environment.torch,
        cpu_threads=environment.cpu_threads,
        seconds=seconds,
        quick=quick,
        measured=measured,
        absent=absent,
        warnings=warnings,
    )
