"""The label of a call on the CPU, estimated from what its task asks for at least and from measured roofs.

It says what would hold back a kernel that does no more than the task needs; how far this one is from that, the score
says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from kprof.bottleneck.advice import within
from kprof.bottleneck.thresholds import THRESHOLDS
from kprof.bottleneck.verdict import Border, Family, Proof, Step, Verdict
from kprof.floor import Floor
from kprof.task_roofs import Limit

_LEVELS: Final[tuple[Limit, ...]] = ("dram", "cache")
_ADVICE: Final[dict[Family, str]] = {
    "memory": "Go through memory once: fuse passes, and touch each element while it is in a cache.",
    "compute": "Use all threads and the widest vector instructions, or a library's matrix product.",
    "launch": "Do more in a call: fuse it with its neighbours, or batch; its overhead is what takes the time.",
}

_FAR: Final = (
    "Find what takes the time: the least that the task asks for does not explain it, and no counter was read. Look for "
    "passes over memory beyond the first, costly functions (exp, division), threads that idle, loops without vector "
    "instructions."
)
_EXPLAINED: Final = 0.5
"""Of the kernel's time, from which the task's least is most of it, and what bounds that bounds the kernel."""


@dataclass(frozen=True)
class ProcessorCall:
    """What is known of one call on the CPU, us."""

    floor: Floor
    """Of the task, by limit."""
    kernel_us: float
    """One call of the kernel."""
    call_us: float | None
    """A call that does next to nothing."""


def processor_verdict(call: ProcessorCall) -> Verdict | None:
    """What holds a call back, by the least it has to do; None where that is not known."""
    floor = call.floor
    if floor.us is None:
        return None
    level = next((name for name in _LEVELS if name in floor.us_by_limit), None)
    memory = floor.us_by_limit[level] if level is not None else 0.0
    compute = floor.us_by_limit.get("flop", 0.0)
    needed = _of_the_task(level, memory, compute, floor.flop_type)
    overhead = _overhead_share(call)
    proofs = _proofs(call, memory, compute)
    if overhead is None:
        return Verdict(*needed, proofs, _steps(needed[0], call), *_near(_between(memory, compute, needed)))
    border = Border(_distance(overhead), _label(needed) if overhead >= _HALF else "launch")
    if overhead >= _HALF:
        return Verdict("launch", None, proofs, _steps("launch", call), *_near(border))
    nearest = min(border, _between(memory, compute, needed), key=lambda one: one.distance)
    return Verdict(*needed, proofs, _steps(needed[0], call), *_near(nearest))


_HALF: Final = 1 - THRESHOLDS.gpu_busy_share
"""The share of a call that its overhead takes, from which it is what holds it back: the host's, as on a GPU."""


def _of_the_task(
    level: Limit | None, memory: float, compute: float, flop_type: str | None
) -> tuple[Family, str | None]:
    return ("memory", level) if memory >= compute else ("compute", flop_type)


def _label(of: tuple[Family, str | None]) -> str:
    return f"{of[0]}/{of[1]}" if of[1] else of[0]


def _overhead_share(call: ProcessorCall) -> float | None:
    """Of the kernel's time."""
    if call.call_us is None:
        return None
    return min(1.0, call.call_us / call.kernel_us) if call.kernel_us > 0 else None


def _distance(share: float) -> float:
    return abs(share - _HALF) / (share + _HALF)


def _between(memory: float, compute: float, needed: tuple[Family, str | None]) -> Border:
    other = "compute" if needed[0] == "memory" else "memory"
    return Border(abs(memory - compute) / (memory + compute), other)


def _near(border: Border) -> tuple[float, str | None]:
    return border.distance, border.runner_up if border.distance < THRESHOLDS.near_border else None


def _proofs(call: ProcessorCall, memory: float, compute: float) -> tuple[Proof, ...]:
    found = [
        Proof("bytes of the task / measured bandwidth", memory, "us"),
        Proof("FLOP of the task / measured peak", compute, "us"),
    ]
    found = sorted((one for one in found if one.value), key=lambda one: -one.value)
    share = _overhead_share(call)
    if share is not None:
        found.append(Proof("call overhead / kernel time", share * 100, "%", _HALF * 100))
    return tuple(found)


def _steps(family: Family, call: ProcessorCall) -> tuple[Step, ...]:
    """What to try; nothing where the kernel is at its floor already. A floor that may be too high bounds no gain."""
    floor_us, kernel_us = call.floor.us, call.kernel_us
    least = max(floor_us or 0.0, call.call_us or 0.0)
    gain = kernel_us / least if family != "launch" and kernel_us and least else None
    far = family != "launch" and least < _EXPLAINED * kernel_us
    steps = within((Step(_FAR if far else _ADVICE[family], gain),), None)
    return tuple(replace(one, at_most_x=None) for one in steps) if call.floor.kind == "upper_estimate" else steps
