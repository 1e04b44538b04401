"""Quantities of the recorded launches of Nsight Compute, and what tests change in them."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from ncu_data import recorded

from kprof.counter_evidence import ProfiledLaunch
from kprof.counter_profile import CounterProfile, Finding
from kprof.counters.quantities import Quantities
from kprof.counters.resolve import resolve
from kprof.gpuspec import GpuSpec, resolve_gpu
from kprof.kernelnames import base_name

REPORTS = ("probes", "library-kernels")


@cache
def h200() -> GpuSpec:
    """The board of both reports."""
    return resolve_gpu("h200-sxm-141gb")


@cache
def launches_of(report: str) -> dict[int, ProfiledLaunch]:
    """The launches of a report by ID."""
    return {launch.launch_id: launch for launch in recorded(f"{report}.raw.csv").launches}


@cache
def quantities_of(report: str, launch_id: int) -> Quantities:
    """What analysis reads of one launch."""
    return resolve(launches_of(report)[launch_id])


def probe(name: str, nth: int = 0) -> Quantities:
    """The quantities of a probe by its kernel's name."""
    ids = [launch_id for launch_id, launch in launches_of("probes").items() if base_name(launch.name) == name]
    return quantities_of("probes", ids[nth])


def every_launch() -> list[tuple[str, int]]:
    """All recorded launches: report and ID."""
    return [(report, launch_id) for report in REPORTS for launch_id in launches_of(report)]


def profile(found: Quantities, spec: GpuSpec | None = None, *findings: Finding) -> CounterProfile:
    return CounterProfile(quantities=found, spec=spec, findings=findings)


def changed(found: Quantities, **values: Any) -> Quantities:
    """With other values; what is set to None was not collected."""
    lacking = {name: "counter_not_collected" for name, value in values.items() if value is None}
    return msgspec.structs.replace(found, missing={**found.missing, **lacking}, **values)
