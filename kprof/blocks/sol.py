"""The block ``sol``: how busy the hardware is, and how far the result is from the best possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kprof.blocks.base import Absence, Status, finish
from kprof.blocks.measured_roofs import NO_CEILINGS, above_measured_roofs
from kprof.blocks.sol_records import NCU_AND_SPEC, OF_THE_TASK, SolBlock
from kprof.bottleneck.loads import compute_loads, memory_loads
from kprof.counter_profile import CounterProfile
from kprof.counters.resolve import NOT_COLLECTED
from kprof.evidence import Reason
from kprof.floor import EMPTY_KERNEL_US, Floor
from kprof.roofline import (
    MEASURED,
    TENSOR_RATES,
    RoofChoice,
    dense_peak,
    measured_bandwidth,
    measured_peak,
    observed_clock_hz,
)

__all__ = ["SolBlock", "TaskTime", "sol_block"]

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
_HARDWARE_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
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
    hardware, of_task = _hardware(profile), _of_task(profile, task)
    beyond = _beyond_floor(task)
    impossible = () if beyond is None or beyond.code in _POSSIBLE else (beyond,)
    suspicions = (*impossible, *_findings(profile))
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


def _hardware(profile: CounterProfile | None) -> dict[str, Any]:
    """What is known of how busy the hardware was."""
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


def _findings(profile: CounterProfile | None) -> tuple[Reason, ...]:
    if profile is None:
        return ()
    return tuple(finding.reason for finding in profile.findings_on(*_DRAM, *_MEMORY, *_PIPES, *_WHOLE))


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
    if path in _HARDWARE_NEEDS:
        return absence.reason.code if profile is None else _why_no_hardware(path, profile)
    if task is None:
        return OF_THE_TASK
    if task.floor is None:
        return task.floor_absent.code if task.floor_absent else "not_collected"
    floor_code = task.floor.reasons.get(_FLOOR_FIELDS.get(path, "us"))
    if path == "traffic_amplification":
        if profile is None:
            return absence.reason.code
        missing = _code(profile, ("dram_bytes",))
        return missing or task.floor.reasons.get("dram_bytes", "no_bytes")
    return floor_code or task.time_absent


def _why_no_hardware(path: str, profile: CounterProfile) -> str:
    return _code(profile, _HARDWARE_NEEDS[path]) or "all_pipes_idle"


def _code(profile: CounterProfile, names: Iterable[str]) -> str:
    """The code of the first of them that is missing or doubted; empty where none is."""
    for name in names:
        if getattr(profile.quantities, name) is None:
            return profile.quantities.missing.get(name, NOT_COLLECTED)
    doubts = profile.findings_on(*names)
    return doubts[0].code if doubts else ""
