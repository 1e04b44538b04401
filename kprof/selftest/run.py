"""The self-test from end to end: build the probes, time them, profile them, hold kprof's numbers against the truth."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Final, TypeVar

from kprof import __version__
from kprof.blocks.counter_analysis import CounterAnalysis
from kprof.capture import Capture
from kprof.collectors.ncu_run.preflight import permission_reason
from kprof.collectors.ncu_run.tool import chip_of, describe_ncu, find_ncu, known_metrics
from kprof.collectors.probes.build import build_probes
from kprof.collectors.probes.run import profile_probes, time_probes
from kprof.collectors.probes.toolchain import cuda_device, find_nvcc
from kprof.counter_evidence import COUNTER_BLOCKS, CountersEvidence
from kprof.errors import CannotMeasureError
from kprof.evidence import Environment
from kprof.probe_evidence import ProbesEvidence
from kprof.resources import resource_dir
from kprof.selftest.checks import compare
from kprof.selftest.records import SelftestResult
from kprof.selftest.truths import load_truths
from kprof.turns import DEFAULT_TIMEOUT_S, turn_on

PROBES: Final = "kernels/probes"
REPEATS: Final = 11
_Result = TypeVar("_Result")


@dataclass
class _Steps:
    """Says what begins, and keeps how long each step took."""

    on_step: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)

    def take(self, name: str, step: Callable[[], _Result]) -> _Result:
        self.on_step(name)
        began = time.monotonic()
        try:
            return step()
        finally:
            self.seconds[name] = time.monotonic() - began


def run_selftest(
    cache_root: Path,
    *,
    ncu: str | None = None,
    device: int = 0,
    keep_report: Path | None = None,
    on_step: Callable[[str], None] = lambda _: None,
    on_wait: Callable[[str], None] = lambda _: None,
    lock_timeout_s: float = DEFAULT_TIMEOUT_S,
) -> SelftestResult:
    """Run all probes and compare. The GPU is held against other runs of kprof's while they run, not while they compile.

    Args:
        cache_root: kprof's cache, where the probes are built.
        ncu: the program; None: the first ``ncu`` on PATH.
        device: its index among the visible ones.
        keep_report: where a copy of ncu's report is kept.
        on_step: told of each step that begins.
        on_wait: told where another run holds the device, which is waited for.
        lock_timeout_s: how long.

    Raises:
        CannotMeasureError: no device, no nvcc, no ncu, no permission to read counters, others held the device for too
            long, or nothing ran.
    """
    steps = _Steps(on_step)
    folder = resource_dir(PROBES)
    truths = load_truths(folder)
    # What can be told at once comes first: nothing is compiled for a test that cannot run.
    capability, board = cuda_device(device)
    nvcc = find_nvcc()
    path = find_ncu(ncu)
    denied = permission_reason()
    if denied is not None:
        raise CannotMeasureError(denied.code, denied.message, denied.hint)
    tool = describe_ncu(path, cache_root)
    known = known_metrics(tool, chip_of(tool, "{}.{}".format(*capability)), cache_root)
    built = steps.take("build", lambda: build_probes(nvcc, folder, tuple(truths), capability, cache_root))
    with turn_on(board, lock_timeout_s, on_wait):
        timed = steps.take("time", lambda: time_probes(built, device, REPEATS))
        counters = steps.take("profile", lambda: profile_probes(tool, known, built, device, keep_report))
    evidence = ProbesEvidence(
        board=timed.board,
        empty_pair_us=timed.empty_pair_us,
        runs=timed.runs,
        lost={**timed.lost, **built.failed},
        logs=built.logs,
        counters=counters,
        nvcc=built.nvcc,
        driver=driver_version(),
        seconds=steps.seconds,
    )
    return result_of(evidence, tool.version)


def result_of(evidence: ProbesEvidence, ncu_version: str | None = None) -> SelftestResult:
    """What the evidence comes to: the same analysis as of any other run, then the comparison."""
    counters = evidence.counters
    analysis = CounterAnalysis(_capture(evidence, counters))
    probes = compare(evidence, analysis.launches, load_truths(resource_dir(PROBES)))
    first = analysis.launches[0].profile if analysis.launches else None
    return SelftestResult(
        kprof_version=__version__,
        created=_now(),
        passed=all(probe.status in ("ok", "unsupported") for probe in probes),
        board=evidence.board,
        spec=first.spec.name if first is not None and first.spec is not None else None,
        driver=evidence.driver,
        nvcc=evidence.nvcc,
        ncu=(counters.ncu_version if counters is not None else None) or ncu_version,
        ncu_passes=counters.runs[0].passes if counters is not None and counters.runs else None,
        empty_pair_us=evidence.empty_pair_us,
        seconds=evidence.seconds,
        probes=probes,
        warnings=tuple(dict.fromkeys((*(counters.warnings if counters is not None else ()), *analysis.warnings))),
    )


def _capture(evidence: ProbesEvidence, counters: CountersEvidence | None) -> Capture:
    """The counters as any report's that is read; of the device the report itself tells."""
    board = evidence.board
    return Capture(
        kprof_version=__version__,
        created=_now(),
        requested=COUNTER_BLOCKS,
        workload=None,
        environment=Environment(
            device="cuda:0",
            device_name=board.name,
            compute_capability=board.compute_capability,
            sm_count=board.sms,
            memory_bytes=board.memory_bytes,
            l2_bytes=board.l2_bytes,
        ),
        counters=counters,
    )


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def driver_version() -> str | None:
    """The driver's own version, as NVML tells it."""
    import pynvml

    try:
        pynvml.nvmlInit()
        version = pynvml.nvmlSystemGetDriverVersion()
    except pynvml.NVMLError:
        return None
    return version.decode() if isinstance(version, bytes) else str(version)
