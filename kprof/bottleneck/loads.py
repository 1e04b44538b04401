"""How busy each unit is that can bound a kernel: the compute side and the memory levels, over elapsed time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from kprof.bottleneck.thresholds import THRESHOLDS
from kprof.bottleneck.verdict import Load
from kprof.counter_profile import CounterProfile

FEEDERS: Final = frozenset({"l1", "shared"})
"""Levels that operands of a data pipe come from: where both are saturated the pipe is the bound."""
DATA_PIPES: Final = frozenset({"fma", "fp16", "fp64", "tensor"})
_L2_PARTS: Final = (
    "l2_to_sm_pct", "l2_from_sm_pct", "l2_tag_pct", "l2_lookup_pct", "l2_data_pct", "l2_atomic_pct",
)  # fmt: skip
_L1_PARTS: Final = ("l1_data_pipe_pct", "l1_request_pct", "l1_writeback_pct", "l1_texture_pct")


def _busiest(profile: CounterProfile, limiter: str, names: Iterable[str]) -> Load | None:
    """The busiest of some parts of one unit; None where none was measured."""
    most, busiest = -math.inf, ""
    for name in names:
        value = profile.trusted(name)
        if value is not None and (value, name) > (most, busiest):
            most, busiest = value, name
    return Load(limiter, most, profile.quantities.sources.get(busiest, busiest)) if busiest else None


def _fma(profile: CounterProfile) -> Load | None:
    """The FMA pipes, called fp16 where most of what they execute is half2 arithmetic (Hopper has no pipe for it)."""
    load = _busiest(profile, "fma", ("fma_pct", "fma_heavy_pct"))
    half = profile.trusted("fma_fp16_pct")
    if load is not None and half is not None and half > THRESHOLDS.dominant_part * load.pct:
        return Load("fp16", load.pct, load.metric)
    return load


def _tensor(profile: CounterProfile) -> Load | None:
    """The tensor pipe, called fp16 where it runs vector instructions (HFMA2.MMA) and hardly a matrix product."""
    load = _busiest(profile, "tensor", ("tensor_pct", "tensor_fp64_pct", "tensor_int_pct"))
    parts = [profile.trusted(name) for name in ("matrix_pct", "tensor_fp64_pct", "tensor_int_pct")]
    known = [part for part in parts if part is not None]
    if load is not None and parts[0] is not None and max(known) < THRESHOLDS.dominant_part * load.pct:
        return Load("fp16", load.pct, load.metric)
    return load


def compute_loads(profile: CounterProfile) -> tuple[Load, ...]:
    """Issue slots and math pipes, busiest first. Barriers run on the ADU, which is no compute bound."""
    found = [
        _busiest(profile, "issue", ("issue_pct",)),
        _fma(profile),
        _tensor(profile),
        *(_busiest(profile, pipe, (f"{pipe}_pct",)) for pipe in ("alu", "fp16", "fp64", "xu")),
    ]
    return _ranked(found)


def _dram(profile: CounterProfile) -> Load | None:
    """DRAM by its own counter; by bytes over time and the peak where a report has no such counter."""
    load = _busiest(profile, "dram", ("dram_busy_pct",))
    if load is not None:
        return load
    moved, duration = profile.trusted("dram_bytes"), profile.trusted("duration_ns")
    peak = profile.trusted("dram_peak_bytes_per_s")
    name = "ncu's peak"
    if peak is None and profile.spec is not None:
        peak, name = profile.spec.memory.bandwidth_bytes_per_s, "the spec's bandwidth"
    if moved is None or not duration or not peak:
        return None
    return Load("dram", moved / (duration * 1e-9) / peak * 100, f"DRAM bytes / duration / {name}")


def _l1(profile: CounterProfile) -> Load | None:
    """L1, called shared where most wavefronts of its data pipe are shared memory's."""
    load = _busiest(profile, "l1", _L1_PARTS)
    shared = profile.trusted("shared_pipe_pct")
    if load is not None and shared is not None and shared > THRESHOLDS.dominant_part * load.pct:
        return Load("shared", load.pct, load.metric)
    return load


def memory_loads(profile: CounterProfile) -> tuple[Load, ...]:
    """The memory levels, busiest first, by the parts of the memory throughput over elapsed time."""
    return _ranked([_dram(profile), _busiest(profile, "l2", _L2_PARTS), _l1(profile)])


def _ranked(found: Iterable[Load | None]) -> tuple[Load, ...]:
    return tuple(sorted((load for load in found if load is not None), key=lambda load: -load.pct))
