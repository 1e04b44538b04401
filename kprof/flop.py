"""FLOP of a launch, by the kind of instruction that does them.

A sum over a counter that is missing is missing; a kernel that was seen to do no FLOP has 0 of them.

Weights are those of Nsight Compute's own roofline sections (SpeedOfLight_Roofline.py and the
``SpeedOfLight_Hierarchical*RooflineChart.section`` files that travel with it): an FMA counts two, an FP16 instruction
works on two halves, a packed FP32 instruction on two floats, tensor counters count multiplies and adds already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kprof.board import RateType
from kprof.counters.quantities import Quantities

FIRST_PACKED_FP32: Final = (10, 0)
"""The first compute capability with packed FP32 instructions (FFMA2; CUDA Binary Utilities, Blackwell table)."""
TENSOR_RATES: Final[Mapping[str, RateType]] = {
    "fp64": "fp64_tensor",
    "tf32": "tf32",
    "bf16": "bf16",
    "fp16": "fp16",
    "fp16_bf16_tf32": "fp16",
    "fp8": "fp8",
    "fp4_fp6": "fp8",
    "fp4_fp6_fp8": "fp8",
    "fp4": "fp4",
    "int8": "int8",
}
"""The peak of each source type that a tensor counter names. Turing's group of three is FP16, all that it has; mixes
with FP6 and FP8 run at FP8's rate (PTX ISA, ``tcgen05.mma`` of kind ``f8f6f4``)."""


@dataclass(frozen=True)
class Flop:
    """FLOP of one launch, or of several together. None: some counter is missing."""

    fp32: float | None
    fp16: float | None
    """Outside the tensor cores, less the HFMA2 that the compiler uses to set registers, where those can be told."""
    fp64: float | None
    tensor: Mapping[str, float] | None
    """By source type, those of 0 left out. Integer types are in it, as operations."""

    @property
    def total(self) -> float | None:
        """All FLOP, integer operations left out."""
        if self.fp32 is None or self.fp16 is None or self.fp64 is None or self.tensor is None:
            return None
        return (
            self.fp32 + self.fp16 + self.fp64 + sum(count for name, count in self.tensor.items() if not integer(name))
        )

    def by_rate(self) -> dict[str, float]:
        """What is known and not 0, integer operations left out, by the type whose peak it runs against.

        A tensor type that no board states a peak for keeps its own name.
        """
        vector = {"fp32": self.fp32, "fp16_vector": self.fp16, "fp64": self.fp64}
        found = {rate: count for rate, count in vector.items() if count}
        for name, count in (self.tensor or {}).items():
            if not integer(name):
                rate = TENSOR_RATES.get(name, name)
                found[rate] = found.get(rate, 0.0) + count
        return found


def integer(tensor_type: str) -> bool:
    """Operations on this tensor type are no FLOP."""
    return tensor_type.startswith("int")


def count_flop(quantities: Quantities, compute_capability: str | None) -> Flop:
    """FLOP of every kind.

    Args:
        quantities: of a launch, or of several as one.
        compute_capability: ``9.0`` and the like; None: not known.
    """
    q = quantities
    return Flop(
        fp32=_fp32(q, compute_capability),
        fp16=0.0 if sets_registers_by_hfma2(q) else _weighted((q.fp16_add, 2.0), (q.fp16_mul, 2.0), (q.fp16_fma, 4.0)),
        fp64=_weighted((q.fp64_add, 1.0), (q.fp64_mul, 1.0), (q.fp64_fma, 2.0)),
        tensor=_tensor(q),
    )


def sets_registers_by_hfma2(quantities: Quantities) -> bool:
    """All half FMAs are moves of constants, which ptxas makes of HFMA2.MMA; Nsight Compute counts four FLOP for each.

    Half arithmetic comes with FP16 instructions of the FMA pipe: 75 % busy with them in a kernel of nothing else on an
    H200, exactly 0 in each of 40 kernels of float code that had such moves.
    """
    q = quantities
    return bool(q.fp16_fma) and q.fp16_add == 0.0 and q.fp16_mul == 0.0 and q.fma_fp16_pct == 0.0 and not q.fp16_pct


def packed_fp32_possible(compute_capability: str | None) -> bool:
    """The chip may run packed FP32 instructions.

    Where the chip is not known they are taken not to be there: the ones that have them are few, and ncu collects the
    packed counters wherever a chip has them. A chip that has them needs the counters: without them its FP32 FLOP are
    not known.
    """
    if compute_capability is None:
        return False
    major, _, minor = compute_capability.partition(".")
    return (int(major), int(minor or 0)) >= FIRST_PACKED_FP32


def _weighted(*terms: tuple[float | None, float]) -> float | None:
    total = 0.0
    for count, weight in terms:
        if count is None:
            return None
        total += count * weight
    return total


def _fp32(q: Quantities, compute_capability: str | None) -> float | None:
    plain = _weighted((q.fp32_add, 1.0), (q.fp32_mul, 1.0), (q.fp32_fma, 2.0))
    packed = _weighted((q.fp32_add2, 2.0), (q.fp32_mul2, 2.0), (q.fp32_fma2, 4.0))
    none_collected = q.fp32_add2 is None and q.fp32_mul2 is None and q.fp32_fma2 is None
    if none_collected and not packed_fp32_possible(compute_capability):
        return plain
    return None if plain is None or packed is None else plain + packed


def _tensor(q: Quantities) -> dict[str, float] | None:
    if q.tensor_flop:
        return {name: count for name, count in q.tensor_flop.items() if count}
    return {} if q.tensor_is_idle else None
