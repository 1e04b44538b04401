"""The floor: the least time that a task could take on a board, from what its reference reads, writes and computes.

``max(bytes / bandwidth, FLOP / dense peak)``: each element of inputs, used parameters and outputs moves once, every
FLOP runs at the dense peak of its type, and both overlap perfectly. No kernel is known to reach it; none passes it,
unless the task asks for less than was counted.

- Cold: inputs and parameters come from DRAM, and outputs go there but for what L2 can hold at the end.
- Warm: of one call after another L2 holds what it has room for; only the rest needs DRAM.
- In both, all of it passes through L2, at L2's bandwidth, where that is known.
- A processor has no spec: its roofs are measured. A call finds in its caches what they have room for, so all bytes go
  at the bandwidth that was measured on as many or fewer of them.

Roofs that were measured count with their fastest sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from kprof.board import GpuSpec
from kprof.ceilings_evidence import MEASURE_HINT, CeilingsEvidence
from kprof.evidence import Cache, Reason
from kprof.floor_evidence import FloorEvidence
from kprof.task_roofs import BoardRoofs, Limit, MovedBytes, ProcessorRoofs, TaskRoofs

FloorKind = Literal["algorithmic", "bytes_only", "upper_estimate"]
"""``algorithmic``: bytes and FLOP counted. ``bytes_only``: FLOP were not counted, or have no peak here; the floor may
lie too low. ``upper_estimate``: the task may need fewer bytes than were counted; the floor may lie too high."""

NO_ROOF: Final = Reason(
    code="ceilings_not_measured",
    message="this processor has no measured bandwidth and peak to hold the task against",
    hint=MEASURE_HINT,
)
EMPTY_KERNEL_US: Final = 0.9
"""What a kernel that does nothing takes on the device (0.87 to 0.9 us on an H100), which no floor counts."""
_MOVED_LESS: Final = 0.98
"""The reference's DRAM bytes over the floor's below which the floor is doubted: counters and counts agree within 2 %
on streaming kernels (H200)."""


@dataclass(frozen=True)
class Floor:
    """The floor of one call. None: not known; ``reasons`` has the code by field."""

    bytes: int | None = None
    """Inputs, used parameters and outputs, each element once."""
    dram_bytes: int | None = None
    """Of them, what a cold call must read from DRAM or write to it."""
    flop: int | None = None
    """FLOP of the reference as far as they were counted; integer operations are left out."""
    us: float | None = None
    kind: FloorKind | None = None
    limit: Limit | None = None
    """Which of `us_by_limit` sets it."""
    us_by_limit: Mapping[Limit, float] = field(default_factory=dict)
    """The time of each limit by itself."""
    flop_type: str | None = None
    """The type of operands with most time at its peak; None: no FLOP were priced."""
    measured: bool = False
    """It rests on measured roofs: a kernel may do a little better."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Reason, ...] = ()
    """What to know before using it."""


def task_floor(
    evidence: FloorEvidence,
    spec: GpuSpec | None,
    *,
    cache: Cache,
    l2_bytes: int | None = None,
    l2_bytes_per_s: float | None = None,
    ref_dram_bytes: float | None = None,
    no_spec: Reason = NO_ROOF,
    ceilings: CeilingsEvidence | None = None,
) -> Floor:
    """The floor of the task that the reference states.

    Args:
        evidence: what was counted of one call of the reference.
        spec: the board; None: bytes and FLOP are all that can be told.
        cache: what the call finds in L2.
        l2_bytes: size of L2, as the device gives it; None: the spec's.
        l2_bytes_per_s: L2's bandwidth, as the report has it; used where the spec has none.
        ref_dram_bytes: DRAM bytes that counters saw one call of the reference move, L2 flushed before it.
        no_spec: why there is no spec, where there is none.
        ceilings: measured roofs, in place of the spec's; a processor's serve without a spec.
    """
    roofs: TaskRoofs | None = None
    if spec is not None:
        roofs = BoardRoofs(spec, l2_bytes or spec.l2.bytes, l2_bytes_per_s, ceilings)
    elif ceilings is not None and ceilings.device == "cpu":
        roofs = ProcessorRoofs(ceilings)
    task = _Task(evidence, roofs, cache)
    dram, flop, seconds = task.cold_dram_bytes, task.flop, task.seconds
    reasons = {
        "bytes": "" if task.bytes is not None else "bytes_not_counted",
        "dram_bytes": "" if dram is not None else task.why_no_bytes(no_spec),
        "flop": "" if flop is not None else "flop_not_counted",
        "us": "" if seconds is not None else task.why_no_time(no_spec),
    }
    doubts = _doubts(task, ref_dram_bytes)
    timed = seconds is not None
    if not timed:
        reasons |= {"kind": reasons["us"], "limit": reasons["us"]}
    kind: FloorKind = "upper_estimate" if doubts else "algorithmic" if task.is_flop_priced else "bytes_only"
    return Floor(
        bytes=task.bytes,
        dram_bytes=dram,
        flop=flop,
        us=max(seconds.values()) * 1e6 if seconds is not None else None,
        kind=kind if timed else None,
        limit=_longest(seconds) if seconds is not None else None,
        us_by_limit={name: value * 1e6 for name, value in (seconds or {}).items()},
        flop_type=task.flop_type if timed else None,
        measured=ceilings is not None and timed,
        reasons={name: code for name, code in reasons.items() if code},
        notes=(*doubts, *_count_notes(task)),
    )


@dataclass(frozen=True)
class _Task:
    evidence: FloorEvidence
    roofs: TaskRoofs | None
    cache: Cache

    @property
    def bytes(self) -> int | None:
        """Where operators were not seen, those of parameters are not in it."""
        inputs, parameters, outputs = (
            self.evidence.input_bytes, self.evidence.parameter_bytes, self.evidence.output_bytes,
        )  # fmt: skip
        if parameters is None and self.evidence.reason is not None:
            parameters = 0
        return None if inputs is None or parameters is None or outputs is None else inputs + parameters + outputs

    @property
    def nothing_to_count(self) -> bool:
        """All that ran was seen, and none of it computes."""
        seen = self.evidence.reason is None and not self.evidence.over_estimates
        return seen and not self.evidence.flop and not self.evidence.uncounted_operators

    @property
    def flop(self) -> int | None:
        """None where none was counted and there may be some."""
        if not self.evidence.flop and not self.nothing_to_count:
            return None
        return sum(count for operands, count in self.evidence.flop.items() if not operands.startswith("int"))

    @property
    def work(self) -> dict[str, int]:
        """FLOP by the type that they may run at: what TF32 may do of FP32 apart."""
        found, tf32 = dict(self.evidence.flop), self.evidence.tf32_flop
        return {**found, "fp32": found["fp32"] - tf32, "tf32": tf32} if tf32 and "fp32" in found else found

    @property
    def cold_dram_bytes(self) -> int | None:
        outputs = self.evidence.output_bytes
        if self.bytes is None or outputs is None or self.roofs is None or self.roofs.l2_bytes is None:
            return None
        return self.bytes - min(outputs, self.roofs.l2_bytes)

    @property
    def dram_bytes(self) -> int | None:
        """Of this call: a warm one needs DRAM for what L2 has no room for."""
        if self.cache == "cold" or self.bytes is None or self.roofs is None or self.roofs.l2_bytes is None:
            return self.cold_dram_bytes
        return max(0, self.bytes - self.roofs.l2_bytes)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Types of operands with FLOP and no peak here."""
        return tuple(one for one in self.evidence.flop if self.roofs is not None and self.roofs.peak(one) is None)

    @property
    def is_flop_priced(self) -> bool:
        return self.nothing_to_count or len(self.unpriced) < len(self.evidence.flop)

    @property
    def read_share(self) -> float | None:
        """Reads among the bytes that DRAM moves; None where it moves none."""
        outputs = self.evidence.output_bytes
        if self.bytes is None or outputs is None or not self.dram_bytes:
            return None
        return min(1.0, (self.bytes - outputs) / self.dram_bytes)

    @property
    def moved(self) -> MovedBytes:
        return MovedBytes(self.bytes, self.dram_bytes, self.read_share)

    @property
    def flop_seconds(self) -> dict[str, float]:
        """Time of each type of operands at its peak; those without one are left out."""
        if self.roofs is None:
            return {}
        return {one: count / peak for one, count in self.work.items() if (peak := self.roofs.peak(one))}

    @property
    def flop_type(self) -> str | None:
        """The type with most time."""
        return max(self.flop_seconds, key=self.flop_seconds.__getitem__, default=None)

    @property
    def seconds(self) -> dict[Limit, float] | None:
        """Time of each limit by itself; None where the bytes cannot be priced."""
        memory = self.roofs.memory_seconds(self.moved) if self.roofs is not None else None
        if memory is None:
            return None
        found: dict[Limit, float] = {**memory, "flop": sum(self.flop_seconds.values())}
        return found if any(found.values()) else None

    def why_no_bytes(self, no_spec: Reason) -> str:
        if self.bytes is None:
            return "bytes_not_counted"
        if isinstance(self.roofs, ProcessorRoofs):
            return "no_cuda_device"
        return no_spec.code if self.roofs is None else "l2_size_unknown"

    def why_no_time(self, no_spec: Reason) -> str:
        if isinstance(self.roofs, ProcessorRoofs):
            return NO_ROOF.code if self.bytes else "nothing_to_do"
        if self.dram_bytes is None:
            return self.why_no_bytes(no_spec)
        return "l2_bandwidth_unknown" if self.bytes else "nothing_to_do"


def _longest(seconds: Mapping[Limit, float]) -> Limit:
    return max(seconds, key=seconds.__getitem__)


def _doubts(task: _Task, ref_dram_bytes: float | None) -> tuple[Reason, ...]:
    """Why the floor may lie too high, where it may."""
    found = list(task.evidence.over_estimates)
    if task.evidence.reason is not None:
        found.append(task.evidence.reason)
    if task.evidence.indexing_operators:
        names = ", ".join(task.evidence.indexing_operators)
        found.append(Reason(code="reads_by_index", message=f"{names} may read but a part of what was counted"))
    dram = task.cold_dram_bytes
    if ref_dram_bytes is not None and dram is not None and ref_dram_bytes < dram * _MOVED_LESS:
        message = f"the reference moved {ref_dram_bytes:.4g} bytes of DRAM, fewer than the {dram:.4g} of the floor"
        found.append(Reason(code="ref_moved_less", message=message))
    seconds = task.seconds
    if task.roofs is not None and seconds:
        found += task.roofs.doubts(_longest(seconds))
    return tuple(found)


def _count_notes(task: _Task) -> tuple[Reason, ...]:
    found = []
    uncounted = ", ".join(task.evidence.uncounted_operators)
    if uncounted and task.evidence.flop:
        found.append(Reason(code="flop_partly_counted", message=f"the floor leaves out the FLOP of {uncounted}"))
    elif task.flop is None:
        message = f"the FLOP of {uncounted or 'the reference'} were not counted: the floor rests on bytes alone"
        found.append(Reason(code="flop_not_counted", message=message))
    if task.unpriced:
        message = f"there is no peak for {', '.join(task.unpriced)}: the floor leaves out those FLOP"
        found.append(Reason(code="flop_not_priced", message=message))
    return tuple(found)
