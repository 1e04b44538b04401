"""The block ``sol``: how busy the hardware is, and how far the result is from the best possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kprof.blocks.base import Absence, Status, finish
from kprof.blocks.measured_roofs import NO_CEILINGS, above_measured_roofs
from kprof.blocks.sol_hardware import HARDWARE_NEEDS, first_missing, hardware_findings, hardware_use, why_no_hardware
from kprof.blocks.sol_records import NCU_AND_SPEC, OF_THE_TASK, SolBlock
from kprof.counter_profile import CounterProfile
from kprof.counters.resolve import NOT_COLLECTED
from kprof.evidence import Reason
from kprof.floor import EMPTY_KERNEL_US, Floor
from kprof.roofline import MEASURED, RoofChoice

_FLOOR_FIELDS: Final[Mapping[str, str]] = {
    "floor_us": "us",
    "floor_bytes": "bytes",
    "floor_dram_bytes": "dram_bytes",
    "floor_flop": "flop",
    "floor_kind": "kind",
}
_POSSIBLE: Final = ("floor_overestimated", "above_measured_roof")
"""Codes of a time below the floor that does not contradict physics."""
_NO_COUNTERS: Final = Absence(
    status="unavailable", reason=Reason(code=NOT_COLLECTED, message="the run holds no counters")
)
_TOO_FEW: Final = Absence(
    status="unavailable",
    reason=Reason(
        code=NOT_COLLECTED,
        message="there is no unit whose share of its peak was counted in every launch",
        hint="kernels[] has what was counted of each launch; --kernel leaves some out.",
    ),
)
FLOOR_BELOW_LAUNCH: Final = "floor_below_launch"
"""Code where the room to gain ends at a kernel that does nothing, before the floor."""


@dataclass(frozen=True)
class TaskTime:
    """The task as a whole: its floor, and the time that the kernel takes for it."""

    floor: Floor | None
    floor_absent: Reason | None = None
    """Why there is no floor, where there is none."""
    kernel_us: float | None = None
    """The headline of the timing block, in the cache state of the floor."""
    time_absent: str = "not_collected"
    """Code for a time that is not there."""
    empty_us: float | None = EMPTY_KERNEL_US
    """What a kernel that does nothing takes; None: not measured there."""

    @property
    def headroom(self) -> float | None:
        """The time over the floor: how many times as fast the task could be done; None where either is not known."""
        if self.floor is None or not self.floor.us or not self.kernel_us:
            return None
        return self.kernel_us / self.floor.us


def sol_block(
    profile: CounterProfile | None,
    task: TaskTime | None = None,
    absent: Absence | None = None,
    roof: RoofChoice = "spec",
) -> SolBlock:
    """The block of one launch, or of the kernel side's launches together with its task.

    Args:
        profile: the counters; None: there are none.
        task: the floor and the time; None: a single launch, which has no task of its own.
        absent: why there are no counters, where there are none.
        roof: ``counters``: against the peaks in the report alone, whatever the spec says; ``measured``: against what
            programs reached on the board, where that is known.
    """
    told = _about_measured(profile, task, roof)
    if profile is not None:
        spec = None if roof == "counters" else profile.spec
        profile = replace(profile, spec=spec, ceilings=profile.ceilings if roof == MEASURED else None)
    absence = absent or (_NO_COUNTERS if profile is None else _TOO_FEW)
    hardware, of_task = hardware_use(profile), _of_task(profile, task)
    beyond = _beyond_floor(task)
    impossible = () if beyond is None or beyond.code in _POSSIBLE else (beyond,)
    suspicions = (*impossible, *hardware_findings(profile))
    reason = suspicions[0] if suspicions else absence.reason if profile is None or not hardware else None
    status: Status = "suspect" if suspicions else "ok" if hardware or "floor_us" in of_task else absence.status
    block = SolBlock(
        status=status,
        reason=reason,
        source=NCU_AND_SPEC,
        warnings=(*suspicions[1:], *_notes(profile, task), *told, *_above(hardware, profile)),
        **hardware,
        **of_task,
    )
    return finish(block, lambda path: _why_null(path, profile, task, absence))


def _of_task(profile: CounterProfile | None, task: TaskTime | None) -> dict[str, Any]:
    """What is known of the task."""
    floor = task.floor if task is not None else None
    if task is None or floor is None:
        return {}
    found: dict[str, Any] = {name: getattr(floor, part) for name, part in _FLOOR_FIELDS.items()}
    if floor.us and task.kernel_us:
        found |= {"task_score": floor.us / task.kernel_us, "headroom": task.headroom}
    moved = profile.quantities.dram_bytes if profile is not None else None
    if moved is not None and floor.dram_bytes:
        found["traffic_amplification"] = moved / floor.dram_bytes
    return {name: value for name, value in found.items() if value is not None}


def _about_measured(profile: CounterProfile | None, task: TaskTime | None, roof: RoofChoice) -> tuple[Reason, ...]:
    """Measured roofs were asked for, and there are none."""
    if roof != MEASURED or (profile is not None and profile.ceilings is not None):
        return ()
    floored = task is not None and task.floor is not None and task.floor.measured
    return () if floored else (NO_CEILINGS,)


def _above(hardware: Mapping[str, Any], profile: CounterProfile | None) -> list[Reason]:
    if profile is None or profile.ceilings is None:
        return []
    return above_measured_roofs({name: pct for name, pct in hardware.items() if name.endswith("_util_pct")})


def _beyond_floor(task: TaskTime | None) -> Reason | None:
    """What it means that the kernel took less than the floor, where it did."""
    floor = task.floor if task is not None else None
    if task is None or floor is None or not floor.us or not task.kernel_us or task.kernel_us >= floor.us:
        return None
    told = f"{task.kernel_us:.5g} us, less than the floor of {floor.us:.5g} us"
    if floor.kind == "upper_estimate":
        return Reason(code="floor_overestimated", message=f"{told}, which may be too high: see the warnings")
    if floor.measured:
        message = f"{told}, which rests on measured roofs: the kernel does better than what they were measured with"
        return Reason(code="above_measured_roof", message=message, hint="Measure again: kprof doctor --ceilings.")
    return Reason(
        code="faster_than_floor",
        message=f"{told}: the work was not done, the time is wrong, or this is another board",
        hint="See the blocks precision and integrity, and environment.spec.",
    )


def _notes(profile: CounterProfile | None, task: TaskTime | None) -> tuple[Reason, ...]:
    found = []
    if profile is not None and profile.spec is None and profile.spec_reason is not None:
        found.append(profile.spec_reason)
    beyond, floor = _beyond_floor(task), task.floor if task is not None else None
    if beyond is not None and beyond.code in _POSSIBLE:
        found.append(beyond)
    empty_us = task.empty_us if task is not None else None
    if floor is not None and floor.us is not None and empty_us is not None and floor.us < empty_us:
        message = f"the floor of {floor.us:.3g} us is less than a kernel that does nothing takes ({empty_us:.3g} us)"
        found.append(Reason(code=FLOOR_BELOW_LAUNCH, message=message, hint="Fuse it with its neighbours."))
    return (*found, *(floor.notes if floor is not None else ()))


def _why_null(path: str, profile: CounterProfile | None, task: TaskTime | None, absence: Absence) -> str:
    if path in HARDWARE_NEEDS:
        return absence.reason.code if profile is None else why_no_hardware(path, profile)
    if task is None:
        return OF_THE_TASK
    if task.floor is None:
        return task.floor_absent.code if task.floor_absent else "not_collected"
    floor_code = task.floor.reasons.get(_FLOOR_FIELDS.get(path, "us"))
    if path == "traffic_amplification":
        if profile is None:
            return absence.reason.code
        missing = first_missing(profile, ("dram_bytes",))
        return missing or task.floor.reasons.get("dram_bytes", "no_bytes")
    return floor_code or task.time_absent
