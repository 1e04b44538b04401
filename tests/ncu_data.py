"""The recorded reports of Nsight Compute in tests/data/ncu, read once, and what binds each of their kernels."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from kprof.audit import audit
from kprof.collectors.ncu.reading import read_report
from kprof.counter_evidence import CountersEvidence, ProfiledLaunch
from kprof.counter_profile import CounterProfile
from kprof.counters.resolve import resolve
from kprof.gpuspec import resolve_gpu
from kprof.kernelnames import base_name

DATA = Path(__file__).parent / "data" / "ncu"


@cache
def recorded(name: str) -> CountersEvidence:
    """One recorded report: ``probes.ncu-rep``, ``probes.raw.csv``, ``library-kernels.raw.csv``."""
    return read_report(DATA / name)


def profile(launch: ProfiledLaunch) -> CounterProfile:
    """The launch as analysis sees it: an H200's, with the audit's findings."""
    spec = resolve_gpu("h200-sxm-141gb")
    quantities = resolve(launch)
    return CounterProfile(quantities, spec, None, audit(quantities, spec))


def keeping(launch: ProfiledLaunch, keep: Any) -> ProfiledLaunch:
    """The launch with only the metrics whose name ``keep`` accepts."""
    return msgspec.structs.replace(launch, metrics={n: v for n, v in launch.metrics.items() if keep(n)})


@cache
def truths() -> dict[tuple[str, int], dict[str, Any]]:
    """What binds each recorded launch, by file stem and launch ID, as truth.yaml has it."""
    told = yaml.safe_load((DATA / "truth.yaml").read_text())
    found: dict[tuple[str, int], dict[str, Any]] = {}
    seen: dict[str, int] = {}
    for launch in recorded("probes.raw.csv").launches:
        name = base_name(launch.name)
        truth = told["probes"][name]
        if isinstance(truth, list):
            truth, seen[name] = truth[seen.get(name, 0)], seen.get(name, 0) + 1
        found["probes", launch.launch_id] = truth
    for key, truth in told["library-kernels"].items():
        first, _, last = str(key).partition("-")
        for launch_id in range(int(first), int(last or first) + 1):
            found["library-kernels", launch_id] = truth
    return found


def allowed(truth: dict[str, Any]) -> dict[str, list[str]]:
    """Families with the limiters that are right in each; an empty list: any."""
    families = {truth["family"]: truth["limiters"]} if "family" in truth else {}
    return {**families, **truth.get("also", {})}
