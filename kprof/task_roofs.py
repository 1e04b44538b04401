"""What a task is held against: a board's spec or its measured roofs, or the measured roofs of a processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from kprof.board import GpuSpec, RateType
from kprof.ceilings_evidence import DRAM_MIXES, CeilingsEvidence
from kprof.evidence import Reason

Limit = Literal["dram", "l2", "cache", "flop"]

_PEAKS: Final[Mapping[str, tuple[RateType, ...]]] = {
    "fp64": ("fp64_tensor", "fp64"),
    "fp32": ("fp32",),
    "tf32": ("tf32", "fp32"),
    "bf16": ("bf16",),
    "fp16": ("fp16",),
    "fp8": ("fp8",),
    "int8": ("int8",),
}
"""The peak of each type of operands, the first that the board has. Counted FLOP are those of matrix products, which may
run on tensor cores; of FP32 those may do so as TF32 for which the reference allows it. Tensor types accumulate in
FP32."""


@dataclass(frozen=True)
class MovedBytes:
    """What a call moves. None: not known."""

    all: int | None
    """Inputs, used parameters and outputs, each element once."""
    dram: int | None
    """Of them, what DRAM must read or write."""
    read_share: float | None
    """Reads among those of DRAM."""


class TaskRoofs(Protocol):
    """What a task is held against."""

    @property
    def l2_bytes(self) -> int | None:
        """Size of L2, where it counts apart from the other levels."""

    def memory_seconds(self, moved: MovedBytes) -> dict[Limit, float] | None:
        """Time of each level by itself; None where the bytes that DRAM moves are not known."""

    def peak(self, operands: str) -> float | None:
        """FLOP/s, dense, of matrix products of such operands."""

    def doubts(self, longest: Limit) -> tuple[Reason, ...]:
        """Why the roof that sets the floor may be beaten."""


@dataclass(frozen=True)
class BoardRoofs:
    """A GPU board: its spec, or what was measured on it."""

    spec: GpuSpec
    l2_bytes: int | None
    reported_l2: float | None
    ceilings: CeilingsEvidence | None = None

    def memory_seconds(self, moved: MovedBytes) -> dict[Limit, float] | None:
        if moved.all is None or moved.dram is None:
            return None
        bandwidth = self._l2_bandwidth
        return {
            "dram": moved.dram / self._dram_bandwidth(moved.read_share),
            "l2": moved.all / bandwidth if bandwidth else 0.0,
        }

    def peak(self, operands: str) -> float | None:
        return next((found for rate in _PEAKS.get(operands, ()) if (found := self._rate(rate)) is not None), None)

    def doubts(self, longest: Limit) -> tuple[Reason, ...]:
        of_l2 = self.spec.l2.bandwidth
        if longest != "l2" or of_l2 is None or of_l2.kind != "measured":
            return ()
        message = f"it rests on an L2 bandwidth that programs reached, {of_l2.read_gbs:g} GB/s, and no stated peak"
        return (Reason(code="measured_l2_bandwidth", message=message),)

    @property
    def _l2_bandwidth(self) -> float | None:
        """Bytes/s."""
        measured = self.ceilings.get("l2") if self.ceilings is not None else None
        if measured is not None:
            return measured.best
        return self.spec.l2.bandwidth.read_gbs * 1e9 if self.spec.l2.bandwidth else self.reported_l2

    def _dram_bandwidth(self, read_share: float | None) -> float:
        measured = self.ceilings.dram_bandwidth(read_share, best=True) if self.ceilings is not None else None
        return self.spec.memory.bandwidth_bytes_per_s if measured is None else measured

    def _rate(self, rate: RateType) -> float | None:
        measured = self.ceilings.get(rate) if self.ceilings is not None else None
        if measured is not None:
            return measured.best
        stated = self.spec.peak(rate)
        return None if stated is None else stated.flop_per_s


@dataclass(frozen=True)
class ProcessorRoofs:
    """A processor: what was measured on it, by how many bytes a call goes through."""

    ceilings: CeilingsEvidence
    l2_bytes: None = None

    def memory_seconds(self, moved: MovedBytes) -> dict[Limit, float] | None:
        found = self.ceilings.processor_bandwidth(moved.all) if moved.all is not None else None
        if moved.all is None or found is None:
            return None
        level: Limit = "dram" if found.name in DRAM_MIXES else "cache"
        return {level: moved.all / found.best}

    def peak(self, operands: str) -> float | None:
        found = self.ceilings.get(operands)
        return None if found is None else found.best

    def doubts(self, longest: Limit) -> tuple[Reason, ...]:
        return self.ceilings.warnings
