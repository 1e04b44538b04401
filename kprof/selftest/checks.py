"""Holds what kprof says of each probe against what the probe does by construction. Pure: evidence in, results out."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kprof.blocks.counter_analysis import LaunchAnalysis
from kprof.bottleneck.verdict import Verdict
from kprof.counters.combine import combine
from kprof.counters.formulas import BYTES_PER_SECTOR
from kprof.counters.quantities import Quantities
from kprof.evidence import Reason
from kprof.flop import Flop, count_flop
from kprof.kernelnames import base_name
from kprof.probe_evidence import RAN, UNSUPPORTED, ProbeRun, ProbesEvidence
from kprof.selftest.records import Check, CheckName, ProbeResult
from kprof.selftest.truths import Truth

TOLERANCE: Final = 0.02
"""Of bytes and FLOP."""
READ_SLACK_BYTES: Final = 65536.0
"""Instructions, parameters and page tables are read too: 12 KiB at most in 39 kernels on an H200."""
DURATION_TOLERANCE: Final = 0.05
DURATION_SLACK_US: Final = 2.0
"""Events step by 0.5 us (CUDA Runtime API), and ncu runs each kernel alone, after a fence of its own: 1 us more for one
that does nothing on an H200."""
_NO_COUNTER: Final = Reason(
    code="not_profiled", message="ncu's report has no launch of this probe", hint="Its log may say why: --debug."
)


def compare(
    evidence: ProbesEvidence, launches: Sequence[LaunchAnalysis], truths: Mapping[str, Truth]
) -> tuple[ProbeResult, ...]:
    """One result a probe, in the order of ``truths``.

    Args:
        evidence: what each probe does by construction, and its event pairs.
        launches: what analysis says of the launches that ncu profiled.
        truths: what must be said of each probe.
    """
    by_name: dict[str, list[LaunchAnalysis]] = {}
    for one in launches:
        by_name.setdefault(base_name(one.launch.name), []).append(one)
    runs = {run.probe: run for run in evidence.runs}
    return tuple(
        _result(name, truth, runs.get(name), by_name.get(name, ()), evidence) for name, truth in truths.items()
    )


def _result(
    name: str, truth: Truth, run: ProbeRun | None, launches: Sequence[LaunchAnalysis], evidence: ProbesEvidence
) -> ProbeResult:
    if run is not None and run.status == UNSUPPORTED:
        reason = Reason(code=UNSUPPORTED, message=f"compute capability {evidence.board.compute_capability} has none")
        return ProbeResult(name=name, status="unsupported", reason=reason)
    if run is None or run.status != RAN:
        told = Reason(code="probe_failed", message=run.status) if run is not None else _NO_COUNTER
        return ProbeResult(name=name, status="failed", reason=evidence.lost.get(name, told))
    if not launches:
        return ProbeResult(name=name, status="failed", reason=_NO_COUNTER, event_us=run.event_us)
    checks = tuple(_checks(truth, run, launches, evidence))
    margin = launches[0].verdict.margin
    return ProbeResult(
        name=name,
        status="ok" if all(check.passed for check in checks) else "missed",
        checks=checks,
        event_us=run.event_us,
        margin_pct=None if margin is None else margin * 100,
    )


def _checks(
    truth: Truth, run: ProbeRun, launches: Sequence[LaunchAnalysis], evidence: ProbesEvidence
) -> Iterator[Check]:
    quantities = _together(launches)
    yield _number("launches", "count", float(run.launches), float(len(launches)), 0.0, 0.0)
    if run.read_bytes is not None:
        slack = READ_SLACK_BYTES * run.launches
        yield _number("dram_read", "bytes", run.read_bytes, quantities.dram_read_bytes, TOLERANCE, slack)
    if run.write_bytes is not None:
        l2_bytes = float(evidence.board.l2_bytes)
        yield _number("dram_write", "bytes", run.write_bytes, quantities.dram_write_bytes, TOLERANCE, l2_bytes)
    yield from _accesses(run, quantities)
    yield from _flop(run, count_flop(quantities, evidence.board.compute_capability))
    if run.event_us and evidence.empty_pair_us is not None:
        yield _duration(run.event_us, evidence.empty_pair_us, quantities.duration_ns)
    verdict = launches[0].verdict
    yield _label(truth, verdict)
    if truth.advice is not None:
        yield _advice(truth.advice, verdict)


def _together(launches: Sequence[LaunchAnalysis]) -> Quantities:
    found = [one.profile.quantities for one in launches]
    return found[0] if len(found) == 1 else combine(found)


def _number(
    name: CheckName,
    unit: str,
    expected: float,
    measured: float | None,
    relative: float,
    slack: float,
    note: str = "",
) -> Check:
    """A number that may be off by a part of what is expected, or by a fixed amount, whichever is more."""
    most = max(relative * abs(expected), slack)
    allowed = f"{relative * 100:g} %" if relative else "exact"
    if slack:
        allowed += f" or {slack:g} {unit}"
    return Check(
        name=name,
        unit=unit,  # type: ignore[arg-type]
        expected=expected,
        measured=measured,
        off_pct=None if measured is None or not expected else (measured / expected - 1) * 100,
        allowed=allowed,
        passed=measured is not None and abs(measured - expected) <= most,
        note=note or ("counter_not_collected" if measured is None else ""),
    )


def _accesses(run: ProbeRun, quantities: Quantities) -> Iterator[Check]:
    """What global loads and stores ask for, in whole sectors: it does not depend on what caches hold."""
    pairs: tuple[tuple[CheckName, float | None, float | None], ...] = (
        ("loaded", run.load_bytes, quantities.load_sectors),
        ("stored", run.store_bytes, quantities.store_sectors),
    )
    for name, expected, sectors in pairs:
        if expected is not None:
            measured = None if sectors is None else sectors * BYTES_PER_SECTOR
            yield _number(name, "bytes", expected, measured, TOLERANCE, 0.0)


def _flop(run: ProbeRun, counted: Flop) -> Iterator[Check]:
    """Each type that the probe does, and each that it does not do where the counters saw more than 2 % of all."""
    tensor = None if counted.tensor is None else sum(counted.tensor.values())
    pairs: tuple[tuple[CheckName, float | None, float | None], ...] = (
        ("fp32_flop", run.fp32_flop, counted.fp32),
        ("fp64_flop", run.fp64_flop, counted.fp64),
        ("fp16_flop", run.fp16_flop, counted.fp16),
        ("tensor_flop", run.tensor_flop, tensor),
    )
    total = sum(expected or 0.0 for _, expected, _ in pairs)
    for name, expected, measured in pairs:
        if expected is None or (expected == 0 and measured is not None and measured <= TOLERANCE * total):
            continue
        yield _number(name, "FLOP", expected, measured, TOLERANCE, 0.0)


def _duration(event_us: Sequence[float], empty_pair_us: float, duration_ns: float | None) -> Check:
    expected = max(statistics.median(event_us) - empty_pair_us, 0.0)
    measured = None if duration_ns is None else duration_ns / 1e3
    return _number("duration", "us", expected, measured, DURATION_TOLERANCE, DURATION_SLACK_US)


def _label(truth: Truth, verdict: Verdict) -> Check:
    """Right where it is one of the true ones, or the runner-up is and the border between the two is near."""
    right = verdict.label in truth.labels
    near = not right and verdict.near_border is not None and _names(verdict.near_border, truth.labels)
    return Check(
        name="label",
        unit="text",
        expected=" or ".join(truth.labels),
        measured=verdict.label,
        allowed="one of them, or the runner-up within 2 % of the border",
        passed=right or near,
        note=f"near {verdict.near_border}" if verdict.near_border else "",
    )


def _names(runner_up: str, labels: Sequence[str]) -> bool:
    """The runner-up is one of the labels: by its family alone, where the limiter was not in question."""
    return any(runner_up in (label, label.split("/")[0]) for label in labels)


def _advice(words: str, verdict: Verdict) -> Check:
    found = next((step.text for step in verdict.steps if words in step.text), None)
    return Check(
        name="advice",
        unit="text",
        expected=words,
        measured=found,
        allowed="some step says so",
        passed=found is not None,
        note="" if found else "not among the steps",
    )
