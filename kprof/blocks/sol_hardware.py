"""How busy the hardware was: DRAM, caches, issue slots and math pipes, each against its peak."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kprof.bottleneck.loads import compute_loads, memory_loads
from kprof.counter_profile import CounterProfile
from kprof.counters.resolve import NOT_COLLECTED
from kprof.evidence import Reason
from kprof.flop import TENSOR_RATES
from kprof.roofline import dense_peak, measured_bandwidth, measured_peak, observed_clock_hz

_DRAM: Final = ("dram_bytes", "duration_ns", "dram_busy_pct")
_MEMORY: Final = (
    "l2_to_sm_pct", "l1_data_pipe_pct", "l2_from_sm_pct", "l2_tag_pct", "l2_lookup_pct", "l2_data_pct",
    "l1_request_pct", "l1_writeback_pct", "l1_texture_pct",
)  # fmt: skip
_PIPES: Final = (
    "fma_pct", "alu_pct", "xu_pct", "tensor_pct", "fp64_pct", "fp16_pct", "fma_heavy_pct", "tensor_fp64_pct",
    "tensor_int_pct",
)  # fmt: skip
_WHOLE: Final = ("issue_pct", "memory_throughput_pct", "sm_throughput_pct")
HARDWARE_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "dram_util_pct": ("dram_bytes", "dram_busy_pct"),
    "memory_util_pct": ("dram_busy_pct", "l2_to_sm_pct", "l1_data_pipe_pct"),
    "compute_util_pct": ("issue_pct", "alu_pct", "fma_pct"),
    "dominant_pipe": ("alu_pct", "fma_pct"),
    "dominant_pipe_pct": ("alu_pct", "fma_pct"),
    "issue_util_pct": ("issue_pct",),
    "score": ("dram_busy_pct", "l2_to_sm_pct", "l1_data_pipe_pct", "issue_pct", "alu_pct", "fma_pct"),
    "score_unit": ("dram_busy_pct", "l2_to_sm_pct", "l1_data_pipe_pct", "issue_pct", "alu_pct", "fma_pct"),
}
"""The quantities that say first why one of these is null."""
_RATE_OF_PIPE: Final[Mapping[str, str]] = {"fma": "fp32", "fp16": "fp16_vector", "fp64": "fp64"}
"""The dense peak that a pipe makes when it does nothing but FMAs."""


def hardware_use(profile: CounterProfile | None) -> dict[str, Any]:
    """The fields of `kprof.blocks.sol_records.SolBlock` that are known of how busy the hardware was."""
    if profile is None:
        return {}
    pipes = _pipes(profile)
    memory, compute = _memory_side(profile), _compute_side(profile, pipes)
    found: dict[str, Any] = {
        "dram_util_pct": _dram_pct(profile, lambda name: getattr(profile.quantities, name)),
        "memory_util_pct": memory[0] if memory else None,
        "compute_util_pct": compute[0] if compute else None,
        "issue_util_pct": profile.quantities.issue_pct,
        "dominant_pipe_pct": max(pipes)[0] if pipes else None,
        "dominant_pipe": max(pipes)[1] if pipes and max(pipes)[0] > 0 else None,
    }
    if memory and compute:
        busiest = max(memory, compute)
        found |= {"score": busiest[0] / 100.0, "score_unit": busiest[1]}
    return {name: value for name, value in found.items() if value is not None}


def hardware_findings(profile: CounterProfile | None) -> tuple[Reason, ...]:
    """What cannot be true of the counters that say it."""
    if profile is None:
        return ()
    return tuple(finding.reason for finding in profile.findings_on(*_DRAM, *_MEMORY, *_PIPES, *_WHOLE))


def why_no_hardware(path: str, profile: CounterProfile) -> str:
    """The code of a null field, one of `HARDWARE_NEEDS`."""
    return first_missing(profile, HARDWARE_NEEDS[path]) or "all_pipes_idle"


def first_missing(profile: CounterProfile, names: Iterable[str]) -> str:
    """The code of the first of them that is missing or doubted; empty where none is."""
    for name in names:
        if getattr(profile.quantities, name) is None:
            return profile.quantities.missing.get(name, NOT_COLLECTED)
    doubts = profile.findings_on(*names)
    return doubts[0].code if doubts else ""


def _dram_pct(profile: CounterProfile, read: Callable[[str], float | None]) -> float | None:
    """Percent of the measured bandwidth or the spec's, else of the counter's own peak."""
    moved, duration_ns = read("dram_bytes"), read("duration_ns")
    stated = None if profile.spec is None else profile.spec.memory.bandwidth_bytes_per_s
    measured = measured_bandwidth("dram", profile.quantities, profile.ceilings)
    peak = stated if measured is None else measured.per_second
    if peak is not None and moved is not None and duration_ns:
        return moved / (duration_ns * 1e-9) / peak * 100.0
    return read("dram_busy_pct")


def _memory_side(profile: CounterProfile) -> tuple[float, str] | None:
    """Percent and name of the busiest level; None unless all three are known.

    The throughput that Nsight Compute makes of all of them serves a report without the parts, but not where DRAM may
    be missing from it: boards with no DRAM of their own have no such counters, and no spec here.
    """
    dram = _dram_pct(profile, profile.trusted)
    levels = {load.limiter: load.pct for load in memory_loads(profile) if load.limiter != "dram"}
    if dram is not None and len(levels) == len(("l2", "l1")):
        return max((dram, "dram"), *((pct, level) for level, pct in levels.items()))
    whole = profile.trusted("memory_throughput_pct")
    if whole is None or (dram is None and profile.spec is None):
        return None
    return whole, "memory"


def _pipes(profile: CounterProfile) -> list[tuple[float, str]]:
    """Percent and name of each math pipe."""
    loads = [load for load in compute_loads(profile) if load.limiter != "issue"]
    return [(load.pct * _clock_share(load.limiter, profile), load.limiter) for load in loads]


def _clock_share(pipe: str, profile: CounterProfile) -> float:
    """The observed clock over that of the pipe's dense peak, and that peak over the measured one where it is to be held
    against that; 1 where the clock or the peak is not known: the counter's own peak."""
    clock_hz = observed_clock_hz(profile.quantities, profile.spec)
    if profile.spec is None or clock_hz is None:
        return 1.0
    of = _RATE_OF_PIPE.get(pipe)
    if pipe == "tensor":
        counts = profile.quantities.tensor_flop
        of = TENSOR_RATES.get(max(counts, key=counts.__getitem__)) if any(counts.values()) else "fp16"
    peak = dense_peak(of, profile.spec) if of else None
    if of is None or peak is None:
        return 1.0
    measured = measured_peak(of, profile.ceilings)
    share = clock_hz / (peak.clock_mhz * 1e6)
    return share if measured is None else share * peak.flop_per_s / measured.per_second


def _compute_side(profile: CounterProfile, pipes: list[tuple[float, str]]) -> tuple[float, str] | None:
    """Percent and name of the busiest of issue slots and pipes; None unless both are known."""
    issue = profile.trusted("issue_pct")
    if issue is not None and pipes:
        return max((issue, "issue"), *pipes)
    whole = profile.trusted("sm_throughput_pct")
    return None if whole is None else (whole, "sm")
