"""The verdict on a whole call: the host where it cannot keep the GPU busy, else the kernels that take most time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kprof.bottleneck.thresholds import THRESHOLDS
from kprof.bottleneck.verdict import Border, Proof, Step, Verdict


@dataclass(frozen=True)
class KernelVerdict:
    """One launch of the call, its time and what holds it back."""

    name: str
    duration_us: float | None
    """None: its time is not known."""
    verdict: Verdict


@dataclass(frozen=True)
class HostShare:
    """How well the host keeps the GPU busy: device time of one call, and what one of many takes on the host, us."""

    device_us: float
    per_call_us: float

    @property
    def busy(self) -> float:
        return self.device_us / self.per_call_us


def workload_verdict(kernels: Sequence[KernelVerdict], host: HostShare | None) -> Verdict | None:
    """What holds the call back; None where nothing is known of it.

    Args:
        kernels: every launch that was profiled.
        host: None where it was not timed; the label is then that of the kernels.
    """
    of_kernels = _most_time(kernels)
    if host is None or host.per_call_us <= 0:
        return of_kernels
    border = _host_border(host, of_kernels)
    if host.busy >= THRESHOLDS.gpu_busy_share:
        return None if of_kernels is None else _with_border(of_kernels, border, "launch")
    proof = Proof("device time / host_stream time", host.busy * 100, "%", THRESHOLDS.gpu_busy_share * 100)
    step = Step(
        "Launch less from the host: capture the call in a CUDA graph, fuse its kernels, or give each launch more work.",
        host.per_call_us / host.device_us if host.device_us > 0 else None,
    )
    verdict = Verdict("launch", None, (proof,), (step,))
    if of_kernels is not None:
        verdict = replace(verdict, proofs=(proof, *of_kernels.proofs[:2]), steps=(step, *of_kernels.steps[:2]))
    return _with_border(verdict, border, of_kernels.label if of_kernels is not None else "unknown")


def _host_border(host: HostShare, of_kernels: Verdict | None) -> Border:
    away = abs(host.busy - THRESHOLDS.gpu_busy_share) / (host.busy + THRESHOLDS.gpu_busy_share)
    return Border(away, of_kernels.label if of_kernels is not None else "unknown")


def _with_border(verdict: Verdict, border: Border, runner_up: str) -> Verdict:
    """The verdict with a border of its own beside those it has."""
    if verdict.margin is not None and verdict.margin <= border.distance:
        return verdict
    near = runner_up if border.distance < THRESHOLDS.near_border else verdict.near_border
    return replace(verdict, margin=border.distance, near_border=near)


def _most_time(kernels: Sequence[KernelVerdict]) -> Verdict | None:
    """The verdict that most device time shares, as the longest launch with it has it.

    Launches whose time is not known have no say, unless all say the same.
    """
    if not kernels:
        return None
    by_label: dict[str, float] = {}
    for kernel in kernels:
        by_label[kernel.verdict.label] = by_label.get(kernel.verdict.label, 0.0) + (kernel.duration_us or 0.0)
    if len(by_label) > 1 and not any(by_label.values()):
        return Verdict("unknown", missing=("the time of each launch",))
    label = max(by_label, key=lambda name: by_label[name])
    return max((k for k in kernels if k.verdict.label == label), key=lambda k: k.duration_us or 0.0).verdict
