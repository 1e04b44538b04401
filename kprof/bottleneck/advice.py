"""What to try, and the speedup that each step cannot exceed.

The time of a kernel is at least what its busiest unit needs. A step that takes work off some units leaves the time of
the busiest of the others: the ratio is the most it can gain. Units that lose work together count together: bytes that
DRAM need not move are bytes that L2 need not move either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from kprof.bottleneck.latency import stall_shares
from kprof.bottleneck.thresholds import THRESHOLDS as T
from kprof.bottleneck.verdict import Cause, Family, Load, Step
from kprof.counter_profile import CounterProfile
from kprof.counters.formulas import BYTES_PER_SECTOR

_WARP: Final = 32.0
_MEMORY: Final = ("dram", "l2", "l1")
_RELIEVED: Final[dict[str, Collection[str] | None]] = {
    "dram": _MEMORY,
    "l2": ("l2", "l1"),
    "l1": ("l1",),
    "shared": ("shared",),
    "issue": ("issue",),
    "alu": ("alu", "issue"),
    "xu": ("xu", "issue"),
    "fma": ("fma", "issue", "l1", "shared"),
    "fp16": ("fp16", "issue", "l1", "shared"),
    "fp64": ("fp64", "issue", "l1", "shared"),
    "tensor": None,
}
"""What has less to do when the unit has. None: a narrower type takes work off everything, so that nothing bounds it."""
_LOADED: Final = {
    "dram": "Move fewer bytes: read each element once, keep intermediate results on chip, store narrower types.",
    "l2": "Ask L2 for less: reuse from registers or shared memory, and let each request cover whole sectors.",
    "l1": "Make fewer, wider accesses: 16 bytes a thread, and values kept in registers.",
    "shared": "Touch shared memory less: wider accesses, and values that are used again kept in registers.",
    "issue": "Issue fewer instructions: vector loads, less index arithmetic, unrolled loops.",
    "fma": "The FMA units (FP32, integer products) are the bound: fewer operations, or tensor cores.",
    "fp16": "The FP16 units are the bound: fewer operations, or tensor cores.",
    "fp64": "The FP64 units are the bound: FP32 wherever the result allows it.",
    "alu": "The integer and logic unit is the bound: less index arithmetic, comparisons and conversions.",
    "xu": "Special functions are the bound: fewer of them, or a polynomial on the FMA units for a part of them.",
    "tensor": "The tensor cores are the bound: fewer operations, or a narrower type.",
}
_LATENCY: Final = {
    "under_filled": "Give the device more blocks: split the work finer, or take more of it in one launch.",
    "imbalance": "Spread the work evenly: the last multiprocessor works long after the others are done.",
    "barrier": "Wait less at barriers: fewer of them, or work that is even between them.",
    "memory_dependency": "Keep more loads in flight: load early and independently, copy asynchronously, more warps.",
    "execution_dependency": "Give the scheduler independent instructions: several accumulators a thread, more warps.",
    "instruction_fetch": "Shrink the code: less unrolling, fewer branches; short kernels end before it is cached.",
    "atomics": "Meet less at the same addresses: reduce within the warp and the block first, then one atomic a block.",
    "occupancy": "Let more warps fit: fewer registers a thread or less shared memory a block.",
}


def load_steps(profile: CounterProfile, family: Family, top: Load | None, loads: Sequence[Load]) -> tuple[Step, ...]:
    """Steps for a kernel that some unit bounds."""
    first = top or max(loads, key=lambda load: load.pct)
    habits = _habits(profile, first.limiter, loads)
    if family == "balanced":
        told = "Compute and memory are about as busy: only less work on both, or more overlap between them, helps."
        return _possible(profile, (Step(told, 100 / first.pct), *habits))
    if not first.limiter:
        return _possible(profile, habits)
    relieved = _RELIEVED[first.limiter]
    step = Step(_LOADED[first.limiter], None if relieved is None else _gain(loads, relieved, 0.0))
    return _possible(profile, (step, *_mma_sync(profile, first), *habits))


def latency_steps(profile: CounterProfile, found: Sequence[Cause], loads: Sequence[Load]) -> tuple[Step, ...]:
    """Steps for a kernel that keeps nothing busy: no latency removed brings it past the unit that is busiest now."""
    busiest = max(loads, key=lambda load: load.pct)
    ceiling = 100 / busiest.pct if busiest.pct > 0 else None
    steps = [
        Step(_LATENCY[cause.limiter], cause.gain if ceiling is None else min(cause.gain, ceiling)) for cause in found
    ]
    return _possible(profile, (*steps[:3], *_habits(profile, "", loads)))


def _gain(loads: Sequence[Load], relieved: Collection[str], left: float) -> float | None:
    """The most that units with ``left`` of their work can gain; None: nothing else was busy."""
    top = max(load.pct for load in loads)
    after = max((load.pct * left if load.limiter in relieved else load.pct for load in loads), default=0.0)
    return top / after if after > 0 else None


def _possible(profile: CounterProfile, steps: Sequence[Step]) -> tuple[Step, ...]:
    """No kernel gets faster than one that does nothing."""
    duration, launches = profile.quantities.duration_ns, profile.quantities.launches
    most = None if duration is None else max(duration / launches / (T.empty_kernel_us * 1e3), 1.0)
    return within(steps, most)


def within(steps: Sequence[Step], most: float | None) -> tuple[Step, ...]:
    """The steps with no gain above ``most`` (None: no bound is known); one that gains nothing is none."""
    held = [replace(one, at_most_x=_least(one.at_most_x, most)) for one in steps]
    return tuple(one for one in held if one.at_most_x is None or one.at_most_x > 1.0)


def _least(gain: float | None, most: float | None) -> float | None:
    return gain if most is None or gain is None else min(gain, most)


def _mma_sync(profile: CounterProfile, first: Load) -> Iterator[Step]:
    """On Hopper mma.sync reaches two thirds of what wgmma does: 360448 of 540672 FLOP a cycle, by ncu's own peaks.

    Warps of wgmma wait for their group now and then, 0.2 % of their time in a loop of nothing else; those of mma.sync
    never do (both on an H200).
    """
    spec = profile.spec
    if first.limiter != "tensor" or spec is None or spec.compute_capability != "9.0":
        return
    shares = stall_shares(profile)
    if shares and not shares.get("gmma"):
        yield Step("Use wgmma: mma.sync reaches two thirds of the tensor peak of this chip.", 1.5)


def _habits(profile: CounterProfile, limiter: str, loads: Sequence[Load]) -> tuple[Step, ...]:
    """What is worth naming whatever the label: evidence and advice, no families of their own."""
    return (
        *_sectors(profile, limiter, loads),
        *_conflicts(profile, limiter, loads),
        *_spills(profile),
        *_divergence(profile, limiter, loads),
    )


def _sectors(profile: CounterProfile, limiter: str, loads: Sequence[Load]) -> Iterator[Step]:
    """Sectors of which only a part is used: each memory level moves as much too much."""
    moved = {what: profile.trusted(f"{what}_sectors") or 0.0 for what in ("load", "store")}
    for what, sectors in moved.items():
        used = profile.trusted(f"{what}_bytes_per_sector")
        well_used = T.sector_use_pct / 100 * BYTES_PER_SECTOR
        if not used or sectors < T.sector_share * sum(moved.values()) or used >= well_used:
            continue
        text = f"Coalesce global {what}s: {used:.3g} of the 32 bytes of each sector are used."
        yield Step(text, _gain(loads, _MEMORY, used / BYTES_PER_SECTOR) if limiter in _MEMORY else None)


def _conflicts(profile: CounterProfile, limiter: str, loads: Sequence[Load]) -> Iterator[Step]:
    conflicts, wavefronts = profile.trusted("bank_conflicts"), profile.trusted("shared_wavefronts")
    if not conflicts or not wavefronts or conflicts / wavefronts < T.conflict_share:
        return
    share = min(conflicts / wavefronts, 1.0)
    text = f"Avoid bank conflicts: {share * 100:.0f} % of shared memory's wavefronts are repeats (pad rows, swizzle)."
    yield Step(text, _gain(loads, ("shared",), 1 - share) if limiter == "shared" else None)


def _spills(profile: CounterProfile) -> Iterator[Step]:
    spilled = profile.trusted("local_bytes")
    if spilled:
        yield Step(f"Keep local memory in registers: {spilled:.3g} bytes went to spills or indexed arrays.")


def _divergence(profile: CounterProfile, limiter: str, loads: Sequence[Load]) -> Iterator[Step]:
    threads = profile.trusted("threads_per_instruction")
    if threads is None or not 0 < threads < T.divergent_threads:
        return
    text = f"Let warps take one path: {threads:.3g} of 32 threads run an instruction on average."
    pipes = ("issue", "fma", "alu", "xu", "fp16", "fp64")
    yield Step(text, _gain(loads, pipes, threads / _WARP) if limiter in pipes else None)
