"""What no board reaches: bounds for boards that no spec is known of, and for what specs leave open.

Each lies far above the fastest that was announced when it was written (2026), so that it refuses no board to come for
some years, and nothing but numbers that no measurement gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kprof.counter_profile import Finding
from kprof.counters.quantities import Quantities

CODE: Final = "beyond_any_board"
DRAM_BYTES_PER_S: Final = 100e12
"""NVIDIA announced 22 TB/s of HBM4 for Rubin (2026); B200 has 8, H200 4.8."""
CACHE_BYTES_PER_S: Final = 1e15
"""L1 of a B200 gives 128 bytes a cycle in each of 148 SMs: 37 TB/s at 1.965 GHz. L2 gives less."""
VECTOR_FLOP_PER_S: Final = 1e15
"""The specs' fastest: 105 TFLOP/s of FP32 (RTX 5090), 149 of FP16 without tensor cores (B200)."""
TENSOR_FLOP_PER_S: Final = 1e18
"""NVIDIA announced 100 PFLOP/s of FP4, with sparsity, for a package of Rubin Ultra (2025)."""
_VECTOR: Final = frozenset({"fp32", "fp16_vector", "fp64"})
_LEVELS: Final[tuple[tuple[str, tuple[str, ...], float], ...]] = (
    ("dram", ("dram_bytes", "dram_read_bytes", "dram_write_bytes"), DRAM_BYTES_PER_S),
    ("l2", ("l2_bytes",), CACHE_BYTES_PER_S),
    ("l1", ("l1_bytes",), CACHE_BYTES_PER_S),
)


def beyond_any_board(
    quantities: Quantities, flop_rates: Iterable[tuple[str, float, tuple[str, ...]]]
) -> tuple[Finding, ...]:
    """The rates that no board reaches.

    Args:
        quantities: of a launch, or of several as one.
        flop_rates: type, FLOP/s or operations/s, and the quantities they were counted in.
    """
    found = []
    duration_s = (quantities.duration_ns or 0.0) * 1e-9
    for level, names, most in _LEVELS:
        moved: float | None = getattr(quantities, names[0])
        if moved is not None and duration_s > 0 and moved / duration_s > most:
            found.append(_finding(f"{moved / duration_s / 1e12:.4g} TB/s at {level.upper()}", most, "TB/s", names))
    for of, reached, names in flop_rates:
        most = VECTOR_FLOP_PER_S if of in _VECTOR else TENSOR_FLOP_PER_S
        if reached > most:
            found.append(_finding(f"{reached / 1e12:.4g} TFLOP/s of {of}", most, "TFLOP/s", names))
    peak = quantities.dram_peak_bytes_per_s
    if peak is not None and peak > DRAM_BYTES_PER_S:
        told = f"the report's DRAM peak of {peak / 1e12:.4g} TB/s"
        found.append(_finding(told, DRAM_BYTES_PER_S, "TB/s", ("dram_peak_bytes_per_s",)))
    return tuple(found)


def _finding(told: str, most: float, unit: str, names: tuple[str, ...]) -> Finding:
    return Finding(CODE, f"{told}: no board does {most / 1e12:,.0f} {unit}", names)
