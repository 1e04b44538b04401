"""The evidence behind the floor: the fewest bytes and FLOP that the task asks for, as the reference states it."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from kprof.evidence import Reason, Record, Side

MOST: Final = 2**63 - 1
"""Of bytes and FLOP; no task comes near it."""
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
"""No task reads less than nothing: a file that says so is refused."""


class FloorEvidence(Record, frozen=True, kw_only=True):
    """What one call of the reference reads, writes and computes, counted from its tensors and operators.

    Bytes count the distinct elements that tensors span, each once, not the storages behind them: a view of a large
    tensor counts its own elements, an expanded one those that are there.
    """

    source: Side = "ref"
    """Whose call was counted; ``kernel`` where there is no reference: bytes of its inputs and outputs only."""
    input_bytes: Count | None = None
    """Distinct elements of the input tensors that operators read; all elements of the inputs where `reason` says that
    operators were not seen, or `over_estimates` that not all code was."""
    parameter_bytes: Count | None = None
    """Distinct elements that the call read of parameters, buffers and other tensors which the reference holds."""
    output_bytes: Count | None = None
    """Distinct elements of the outputs that are not inputs handed back, and those of inputs that were written to."""
    flop: dict[str, Count] = msgspec.field(default_factory=dict)
    """FLOP by element type of the operands (``fp32``, ``bf16``, ``fp16``, ``fp64``, ``fp8``, ``int8``; else torch's
    name). Empty: nothing was counted, which is not the same as nothing to count."""
    tf32_flop: Count = 0
    """The part of ``flop["fp32"]`` that torch may run at TF32, as the settings were at each operator."""
    counted_operators: tuple[str, ...] = ()
    """Operators whose FLOP were counted."""
    uncounted_operators: tuple[str, ...] = ()
    """Operators that compute and that the counter does not know: their FLOP are missing from ``flop``."""
    indexing_operators: tuple[str, ...] = ()
    """Operators that may read a part of their input only (gather, embedding): the bytes are then an upper estimate."""
    tf32_allowed: bool | None = None
    """torch may use TF32 for some of the FP32 products counted; where none were, for FP32 matrix products, as the
    reference left its settings. None: there is no reference."""
    over_estimates: tuple[Reason, ...] = ()
    """Other ways in which bytes or FLOP may be more than the task needs. With this and ``indexing_operators`` empty,
    the bytes are exact."""
    reason: Reason | None = None
    """Why operators were not seen: the bytes are then those of all inputs and outputs, and ``flop`` is empty."""

    def __post_init__(self) -> None:
        """Refuse more than all of the FLOP.

        Raises:
            ValueError: `tf32_flop` is more than there are of FP32; of a file it becomes msgspec's ValidationError.
        """
        fp32 = self.flop.get("fp32", 0)
        if self.tf32_flop > fp32:
            raise ValueError(f"tf32_flop is {self.tf32_flop}, more than the {fp32} of fp32 that it is a part of")
