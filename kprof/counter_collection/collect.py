"""From a request to what ncu measured of it: finds ncu, asks what it can, runs it.

The caller holds the device against other runs: ncu's own lock lies in the temporary folder, here a private one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from kprof.collectors.ncu_run.failures import not_started
from kprof.collectors.ncu_run.preflight import mig_warning, permission_reason
from kprof.collectors.ncu_run.tool import chip_of, describe_ncu, find_ncu, known_metrics
from kprof.counter_collection.expected import Expected, expected_kernels
from kprof.counter_collection.one_run import ReadReport, Surroundings
from kprof.counter_collection.options import CounterOptions
from kprof.counter_collection.runs import Collected, Collection
from kprof.errors import CannotMeasureError
from kprof.evidence import Environment, Reason
from kprof.launches_evidence import LaunchesEvidence
from kprof.worker.protocol import Request, Update
from kprof.worker.supervisor import Limits


def collect_counters(
    request: Request,
    options: CounterOptions,
    limits: Limits,
    on_update: Callable[[Update], None],
    *,
    environment: Environment,
    launches: LaunchesEvidence | None,
    read_report: ReadReport | None = None,
) -> Collected:
    """Profile one call of each side with ncu. Nothing that ncu does is raised.

    Args:
        request: what a worker is to load; its stages are set here.
        options: how ncu is run.
        limits: bounds on each run's time.
        on_update: told of each update of the worker's.
        environment: of the device that was measured.
        launches: what torch.profiler saw, from which the number of launches is known.
        read_report: reads a report file; None: kprof's own reader.
    """
    cache_root = Path(request.cache_dir)
    version: str | None = None
    try:
        path = find_ncu(options.ncu)
        tool = describe_ncu(path, cache_root)
        version = tool.version
        known = known_metrics(tool, chip_of(tool, environment.compute_capability), cache_root)
        denied = permission_reason()
        if denied is not None:
            return Collected(None, (not_started(denied),), version)
        expected = expected_kernels(launches, options.kernel_filter)
        _require_kernels(expected)
        around = Surroundings(tool, request, limits, on_update, read_report or _own_reader())
        collected = Collection(around, options, expected, known).run()
    except CannotMeasureError as error:
        reason = Reason(code=error.code, message=error.message, hint=error.hint)
        return Collected(None, (not_started(reason),), version)
    return replace(_with_mig(collected, environment), ncu_version=version)


def _with_mig(collected: Collected, environment: Environment) -> Collected:
    mig = mig_warning(environment.gpu_uuid, os.environ.get("CUDA_VISIBLE_DEVICES"))
    if mig is None or collected.evidence is None:
        return collected
    warnings = (*collected.evidence.warnings, mig)
    return replace(collected, evidence=msgspec.structs.replace(collected.evidence, warnings=warnings))


def _own_reader() -> ReadReport:
    # Imported when a report is about to be there: it brings pandas or ncu_report with it.
    from kprof.collectors.ncu.reading import read_report

    return read_report


def _require_kernels(expected: Expected) -> None:
    if expected.nothing_left:
        raise CannotMeasureError(
            "ncu_no_kernels",
            "all kernels are collectives (NCCL), which wait for one another and never end under ncu",
            "Pick kernels with --kernel.",
        )
