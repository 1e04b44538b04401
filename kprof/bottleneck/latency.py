"""Why a kernel keeps nothing busy: the candidates, ranked by what removing each could gain at most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from kprof.bottleneck.thresholds import THRESHOLDS
from kprof.bottleneck.verdict import Cause, Proof
from kprof.counter_profile import CounterProfile
from kprof.counters.families import MAIN_STATES
from kprof.counters.formulas import BYTES_PER_SECTOR

_MEMORY_STATES: Final = ("long_scoreboard", "lg_throttle", "tex_throttle", "drain", "membar")
"""Waits for L1TEX and what is behind it: results, queues, stores and fences on their way."""
_EXECUTION_STATES: Final = ("wait", "math_pipe_throttle", "dispatch_stall", "gmma")
"""Waits for the instruction before: fixed latencies, pipes, tensor cores."""
_MIO_STATES: Final = ("short_scoreboard", "mio_throttle")
"""Waits for the memory input/output unit: shared memory, or special functions."""
_FETCH_STATES: Final = ("no_instruction", "imc_miss", "branch_resolving")
_MOST_SHARE: Final = 0.999
_MOST_ATOMIC_SHARE: Final = 1.05
"""Of what L2 is asked for; beyond it the two counters are of different passes and tell nothing."""


def stall_shares(profile: CounterProfile) -> dict[str, float]:
    """Share of each warp state among all, 0 to 1; empty where neither cycles nor enough samples were measured."""
    quantities = profile.quantities
    for name, family, least in (
        ("stall_cycles", quantities.stall_cycles, 0.0),
        ("stall_samples", quantities.stall_samples, THRESHOLDS.least_samples),
    ):
        total = sum(family.values())
        whole = family.keys() >= MAIN_STATES and min(family.values(), default=-1.0) >= 0
        if whole and total > 0 and total >= least and not profile.is_doubted(name):
            return {state: value / total for state, value in family.items()}
    return {}


def causes(profile: CounterProfile) -> tuple[Cause, ...]:
    """Every cause that passes its threshold, the one with most to gain first; a grid far too small before all."""
    shares = stall_shares(profile)
    found = [
        *_grid_causes(profile),
        *_imbalance(profile),
        *_named_for_atomics(profile, _stall_causes(profile, shares)),
        *_occupancy(profile, shares),
    ]
    ranked = sorted((cause for cause in found if cause.gain >= THRESHOLDS.least_gain), key=lambda cause: -cause.gain)
    if not leaves_idle(profile):
        return tuple(ranked)
    return tuple(sorted(ranked, key=lambda cause: cause.limiter != "under_filled"))


def _cause(limiter: str, value: float, gain: Callable[[float], float], proof: Proof) -> Cause:
    """A cause whose gain is a function of one value, bounded by that value moved either way."""
    by = THRESHOLDS.near_border
    moved = (gain(value * (1 - by)), gain(value * (1 + by)))
    return Cause(limiter, gain(value), min(moved), max(moved), proof)


def blocks_at_once(profile: CounterProfile) -> float | None:
    """Blocks that one multiprocessor holds, by the limits that ncu reports."""
    names = ("blocks_by_blocks", "blocks_by_registers", "blocks_by_smem", "blocks_by_warps")
    limits = [limit for name in names if (limit := profile.trusted(name)) is not None]
    return min(limits) if len(limits) == len(names) and min(limits) > 0 else None


def waves(profile: CounterProfile) -> float | None:
    """The grid over the blocks that the whole device holds at once: exact, where ncu's own number is rounded."""
    grid, sms, each = profile.trusted("grid_size"), profile.trusted("sm_count"), blocks_at_once(profile)
    if grid is None or sms is None or each is None:
        return profile.trusted("waves_per_sm")
    return grid / (each * sms)


def _grid_causes(profile: CounterProfile) -> Iterator[Cause]:
    """A grid that leaves multiprocessors, or room on them, empty: what is empty could do as much again."""
    grid, sms, filled = profile.trusted("grid_size"), profile.trusted("sm_count"), waves(profile)
    if grid is not None and sms is not None and 0 < grid < sms:
        idle = Proof("launch__grid_size", grid, "blocks", sms)
        yield _cause("under_filled", max(sms / grid, 1 / filled if filled else 0.0), lambda gain: gain, idle)
    elif filled is not None and 0 < filled < 1:
        proof = Proof("launch__waves_per_multiprocessor", filled, "waves", 1.0)
        yield _cause("under_filled", 1 / filled, lambda gain: gain, proof)


def leaves_idle(profile: CounterProfile) -> bool:
    """So many multiprocessors have no block that nothing inside the blocks could make up for it."""
    grid, sms = profile.trusted("grid_size"), profile.trusted("sm_count")
    return grid is not None and sms is not None and grid > 0 and sms / grid >= THRESHOLDS.imbalance_x


def _imbalance(profile: CounterProfile) -> Iterator[Cause]:
    """Multiprocessors that stand idle while the last one works, though each had a block."""
    grid, sms = profile.trusted("grid_size"), profile.trusted("sm_count")
    active, elapsed = profile.trusted("sm_cycles_active_avg"), profile.trusted("sm_cycles_elapsed")
    longest = profile.trusted("sm_cycles_active_max")
    if grid is None or sms is None or grid < sms or not active or not elapsed:
        return
    # The launch's own start-up is in elapsed and not in the longest: of a short kernel it must not pass for imbalance.
    gain = (longest if longest is not None else elapsed) / active
    if gain >= THRESHOLDS.imbalance_x:
        proof = Proof("sm__cycles_active.max / sm__cycles_active.avg", gain, "ratio", THRESHOLDS.imbalance_x)
        yield _cause("imbalance", gain, lambda value: value, proof)


def _share_cause(limiter: str, name: str, share: float) -> Cause:
    """Amdahl: without the waits, the rest of the warps' time is left."""
    proof = Proof(f"warp states: {name}", share * 100, "%", THRESHOLDS.stall_share * 100)
    return _cause(limiter, share, lambda value: 1 / (1 - min(value, _MOST_SHARE)), proof)


def _stall_causes(profile: CounterProfile, shares: Mapping[str, float]) -> Iterator[Cause]:
    groups = {
        "barrier": ("barrier",),
        "memory_dependency": _MEMORY_STATES + (() if _mio_is_arithmetic(profile) else _MIO_STATES),
        "execution_dependency": _EXECUTION_STATES + (_MIO_STATES if _mio_is_arithmetic(profile) else ()),
        "instruction_fetch": _FETCH_STATES,
    }
    for limiter, states in groups.items():
        share = sum(shares.get(state, 0.0) for state in states)
        if share >= THRESHOLDS.stall_share:
            present = sorted((state for state in states if shares.get(state)), key=lambda state: -shares[state])
            yield _share_cause(limiter, " + ".join(present[:3]), share)


def _mio_is_arithmetic(profile: CounterProfile) -> bool:
    """Waits for the MIO are for special functions, not for shared memory, where those are the busier of the two."""
    special, shared = profile.trusted("xu_pct"), profile.trusted("shared_pipe_pct")
    return special is not None and special > (shared or 0.0)


def _named_for_atomics(profile: CounterProfile, found: Iterable[Cause]) -> Iterator[Cause]:
    """Waits for memory, called atomics where those queue: at one slice of L2, or as most of what it is asked for."""
    proof = _hot_slice(profile) or _mostly_atomics(profile)
    if proof is not None and not stall_shares(profile):
        # Nobody saw the warps wait: evenly over the slices, atomics would take this much less.
        yield _cause("atomics", max(_unevenness(profile), 1.0), lambda gain: gain, proof)
    for cause in found:
        if cause.limiter == "memory_dependency" and proof is not None:
            yield replace(cause, limiter="atomics", proof=proof)
        else:
            yield cause


def _hot_slice(profile: CounterProfile) -> Proof | None:
    hottest, mean = profile.trusted("l2_hottest_atomic_pct"), profile.trusted("l2_atomic_pct")
    if hottest is None or mean is None or hottest < THRESHOLDS.hot_slice_pct:
        return None
    if hottest < THRESHOLDS.hot_slice_x * mean:
        return None
    name = profile.quantities.sources["l2_hottest_atomic_pct"]
    return Proof(name, hottest, "%", THRESHOLDS.hot_slice_pct)


def _unevenness(profile: CounterProfile) -> float:
    """The busiest slice's atomic unit over the mean of all."""
    hottest, mean = profile.trusted("l2_hottest_atomic_pct"), profile.trusted("l2_atomic_pct")
    return hottest / mean if hottest and mean else 1.0


def _mostly_atomics(profile: CounterProfile) -> Proof | None:
    asked = profile.trusted("l2_bytes")
    parts = [profile.trusted(name) for name in ("l2_reduction_sectors", "l2_atomic_sectors")]
    atomics = sum(part for part in parts if part is not None)
    if not asked or not atomics:
        return None
    share = atomics * BYTES_PER_SECTOR / asked
    if not THRESHOLDS.atomic_share <= share <= _MOST_ATOMIC_SHARE:
        return None
    return Proof("atomic and reduction sectors of L2's", share * 100, "%", THRESHOLDS.atomic_share * 100)


def _occupancy(profile: CounterProfile, shares: Mapping[str, float]) -> Iterator[Cause]:
    """Too few warps to hide latency behind, where the grid would have had more."""
    limit, filled = profile.trusted("theoretical_occupancy_pct"), waves(profile)
    if not limit or limit >= THRESHOLDS.low_occupancy_pct or (filled is not None and filled < 1):
        return
    if shares and sum(shares.get(state, 0.0) for state in (*_MEMORY_STATES, *_EXECUTION_STATES, *_MIO_STATES)) < (
        THRESHOLDS.stall_share
    ):
        return
    proof = Proof("sm__maximum_warps_per_active_cycle_pct", limit, "%", THRESHOLDS.low_occupancy_pct)
    yield _cause("occupancy", limit, lambda value: 100 / value, proof)
