"""The evidence behind the floor: the fewest bytes and FLOP that the task itself asks for, as the reference states it."""

from __future__ import annotations

import msgspec

from kprof.evidence import Record


class FloorEvidence(Record, frozen=True, kw_only=True):
    """What one call of the reference reads, writes and computes, counted from its tensors and operators.

    Bytes count the distinct elements that tensors span, each once, not the storages behind them: a view of a large
    tensor counts its own elements, an expanded one those that are there.
    """

    input_bytes: int | None = None
    """Distinct elements of the input tensors."""
    parameter_bytes: int | None = None
    """Distinct elements of the parameters and buffers that the call used."""
    output_bytes: int | None = None
    """Distinct elements of the outputs that are not inputs handed back."""
    flop: dict[str, int] = msgspec.field(default_factory=dict)
    """FLOP by element type of the operands (``fp32``, ``bf16``, ``fp16``, ``fp64``, ``fp8``, ``int8``)."""
    counted_operators: tuple[str, ...] = ()
    """Operators whose FLOP were counted."""
    uncounted_operators: tuple[str, ...] = ()
    """Operators that compute and that the counter does not know: their FLOP are missing from ``flop``."""
    indexing_operators: tuple[str, ...] = ()
    """Operators that may read a part of their input only (gather, embedding): the bytes are then an upper estimate."""
    tf32_allowed: bool | None = None
    """torch may use TF32 for FP32 matrix products, as the reference left its settings."""
