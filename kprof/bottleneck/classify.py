"""The verdict on one kernel: family, limiter, the numbers behind both, and how near another label is.

After Nsight Compute's SOLBottleneck rule, on the parts of its throughputs: a unit from 80 % is the bound; both sides
under 60 % is latency; within 10 points of each other they are balanced; else the side that is ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kprof.bottleneck.advice import latency_steps, load_steps
from kprof.bottleneck.latency import causes, leaves_idle, stall_shares
from kprof.bottleneck.loads import DATA_PIPES, FEEDERS, compute_loads, memory_loads
from kprof.bottleneck.thresholds import THRESHOLDS as T
from kprof.bottleneck.verdict import Border, Family, Load, Proof, Step, Verdict
from kprof.counter_profile import CounterProfile

_COMPUTE_PARTS: Final = ("issue_pct", "fma_pct", "alu_pct", "xu_pct", "tensor_pct", "fp64_pct")
"""Every architecture from Volta on has them: without one of them a busy pipe may be out of sight."""
_MEMORY_PARTS: Final = ("l2_to_sm_pct", "l2_from_sm_pct", "l2_tag_pct", "l1_data_pipe_pct")
"""The parts of L2 and L1 that were the busiest of some kernel; DRAM can be had from bytes and time as well."""
_MEMORY_THROUGHPUT: Final = "gpu__compute_memory_throughput"
_READ: Final = (
    *_COMPUTE_PARTS, *_MEMORY_PARTS, "dram_busy_pct", "dram_bytes", "fma_heavy_pct", "stall_cycles", "grid_size",
    "occupancy_pct", "sm_cycles_active_avg",
)  # fmt: skip
"""Quantities that labels rest on: what of them is doubted is told with the label."""
_WORK_SPREAD: Final = ("grid_size", "sm_count", "sm_cycles_active_avg", "sm_cycles_active_max")
_EXPLAINED_SHARE: Final = 0.95
"""ncu's throughput of a side is the largest of its parts: a part this near to it is that part."""


def classify(profile: CounterProfile) -> Verdict:
    """What holds the kernel of ``profile`` back. Any counter may be missing; it never raises for that."""
    compute, memory = compute_loads(profile), memory_loads(profile)
    unseen = ([n for n in _COMPUTE_PARTS if getattr(profile.quantities, n) is None], _unseen_memory(profile, memory))
    missing = (*unseen[0], *unseen[1])
    if memory and memory[0].limiter == "l1" and profile.quantities.shared_pipe_pct is None:
        missing = (*missing, "shared_pipe_pct")
    top_compute = _top(compute, unseen[0], profile.trusted("sm_throughput_pct"), "sm__throughput")
    top_memory = _top(memory, unseen[1], profile.trusted("memory_throughput_pct"), _MEMORY_THROUGHPUT)
    if top_compute is None or top_memory is None:
        verdict = _one_side(top_compute, top_memory, missing)
    else:
        family, borders = _family(top_compute, top_memory)
        if family == "latency":
            verdict = _latency(profile, (top_compute, top_memory), borders, missing)
        else:
            sides = _led_by(top_compute, compute), _led_by(top_memory, memory)
            verdict = _loaded(profile, family, *sides, borders, missing)
    return replace(verdict, doubted=tuple(name for name in _READ if profile.is_doubted(name)))


def _unseen_memory(profile: CounterProfile, memory: Sequence[Load]) -> list[str]:
    """What was seen and is doubted has been seen: the label rests on the rest."""
    dram = any(load.limiter == "dram" for load in memory) or profile.is_doubted("dram_busy_pct")
    parts = [name for name in _MEMORY_PARTS if getattr(profile.quantities, name) is None]
    return parts if dram else ["dram_busy_pct", *parts]


def _top(loads: Sequence[Load], unseen: Sequence[str], throughput: float | None, name: str) -> Load | None:
    """The busiest unit of a side.

    Where a part is out of sight, ncu's own throughput bounds the side; it names no unit unless a part explains it.
    None: nobody can tell how busy the side is.
    """
    known = loads[0] if loads else None
    if known is not None and (not unseen or known.pct >= T.saturated_pct):
        # Beyond its parts only memory's throughput tells of a bound: that of the SM has barriers in it.
        hidden = name == _MEMORY_THROUGHPUT and throughput is not None and known.pct < throughput * _EXPLAINED_SHARE
        return Load("", throughput, name) if hidden and throughput is not None and throughput >= T.busy_pct else known
    if throughput is None:
        return None
    explained = known is not None and known.pct >= throughput * _EXPLAINED_SHARE
    return known if explained else Load("", throughput, name)


def _led_by(top: Load, loads: Sequence[Load]) -> Sequence[Load]:
    return loads if loads and loads[0] is top else (top, *loads)


def _family(compute: Load, memory: Load) -> tuple[Family, tuple[Border, ...]]:
    """The family and its borders."""
    saturated = [load for load in (compute, memory) if load.pct >= T.saturated_pct]
    if len(saturated) == 2:
        return _both_saturated(compute, memory)
    top, other = (compute, memory) if compute.pct >= memory.pct else (memory, compute)
    leader: Family = "compute" if top is compute else "memory"
    apart = top.pct - other.pct
    swing = abs(apart - T.ahead_points) / (top.pct + other.pct or 1.0)
    leads = apart >= T.ahead_points
    if saturated:
        return leader, _saturated_borders(top, other, leader, leads)
    if top.pct < T.busy_pct:
        return "latency", (Border(_rise(top.pct, T.busy_pct), leader if leads else "balanced"),)
    to_latency = Border(_fall(top.pct, T.busy_pct), "latency")
    if leads:
        return leader, (to_latency, Border(swing, "balanced"))
    return "balanced", (to_latency, Border(swing, leader), Border(_rise(top.pct, T.saturated_pct), leader))


def _both_saturated(compute: Load, memory: Load) -> tuple[Family, tuple[Border, ...]]:
    """The pipe, where what feeds it is as busy; else the busier of the two."""
    if compute.limiter in DATA_PIPES and memory.limiter in FEEDERS:
        return "compute", (Border(_fall(compute.pct, T.saturated_pct), "memory"),)
    between = abs(compute.pct - memory.pct) / (compute.pct + memory.pct)
    if compute.pct >= memory.pct:
        return "compute", (Border(between, "memory"),)
    return "memory", (Border(between, "compute"),)


def _saturated_borders(top: Load, other: Load, leader: Family, leads: bool) -> tuple[Border, ...]:
    behind = "memory" if leader == "compute" else "compute"
    overtaken = Border(max(_rise(other.pct, T.saturated_pct), (top.pct - other.pct) / (top.pct + other.pct)), behind)
    return (overtaken,) if leads else (overtaken, Border(_fall(top.pct, T.saturated_pct), "balanced"))


def _rise(value: float, border: float) -> float:
    return border / value - 1 if value > 0 else float("inf")


def _fall(value: float, border: float) -> float:
    return 1 - border / value


def _loaded(
    profile: CounterProfile,
    family: Family,
    compute: Sequence[Load],
    memory: Sequence[Load],
    borders: tuple[Border, ...],
    missing: tuple[str, ...],
) -> Verdict:
    """Bound by what is busy."""
    side = {"compute": compute, "memory": memory}.get(family, ())
    if len(side) > 1 and side[0].limiter:
        between = (side[0].pct - side[1].pct) / (side[0].pct + side[1].pct)
        borders = (*borders, Border(between, f"{family}/{side[1].limiter}"))
    threshold = T.saturated_pct if max(compute[0].pct, memory[0].pct) >= T.saturated_pct else T.busy_pct
    shown = [*side[:1], *(load for load in (compute[0], memory[0]) if load not in side[:1])]
    proofs = tuple(Proof(load.metric, load.pct, "%", threshold) for load in shown)
    steps = load_steps(profile, family, side[0] if side else None, (*compute, *memory))
    return _verdict(family, (side[0].limiter or None) if side else None, proofs, steps, borders, missing)


def _latency(
    profile: CounterProfile, tops: tuple[Load, Load], borders: tuple[Border, ...], missing: tuple[str, ...]
) -> Verdict:
    """Nothing is busy: why not."""
    found = causes(profile)
    proofs = [cause.proof for cause in found[:3]]
    proofs += [Proof(load.metric, load.pct, "%", T.busy_pct) for load in tops]
    steps = latency_steps(profile, found, tops)
    missing = (*missing, *(name for name in _WORK_SPREAD if getattr(profile.quantities, name) is None))
    if not stall_shares(profile):
        missing = (*missing, "stall_cycles")
    if len(found) > 1 and found[1].most > found[0].least and not leaves_idle(profile):
        borders = (*borders, Border(T.near_border / 2, f"latency/{found[1].limiter}"))
    limiter = found[0].limiter if found else None
    return _verdict("latency", limiter, tuple(proofs), steps, borders, missing)


def _one_side(compute: Load | None, memory: Load | None, missing: tuple[str, ...]) -> Verdict:
    """Only one side can be judged, or none: it is the bound where it is saturated; else nothing can be said."""
    top = compute or memory
    if top is None:
        return Verdict("unknown", missing=missing)
    proof = Proof(top.metric, top.pct, "%", T.saturated_pct)
    if top.pct < T.saturated_pct:
        return Verdict("unknown", proofs=(proof,), missing=missing)
    family: Family = "compute" if top is compute else "memory"
    border = Border(_fall(top.pct, T.saturated_pct), "unknown")
    return _verdict(family, top.limiter or None, (proof,), (), (border,), missing)


def _verdict(
    family: Family,
    limiter: str | None,
    proofs: tuple[Proof, ...],
    steps: tuple[Step, ...],
    borders: tuple[Border, ...],
    missing: tuple[str, ...],
) -> Verdict:
    nearest = min(borders, key=lambda border: border.distance, default=None)
    near = nearest is not None and nearest.distance < T.near_border
    return Verdict(
        family,
        limiter,
        proofs,
        steps,
        None if nearest is None or nearest.distance == float("inf") else nearest.distance,
        nearest.runner_up if nearest is not None and near else None,
        missing,
    )
