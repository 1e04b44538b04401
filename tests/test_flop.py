"""FLOP of launches: weights by instruction, on recorded launches and with counters missing."""

from __future__ import annotations

from typing import Any

import pytest
from recorded_ncu import probe

from kprof.counters.quantities import Quantities
from kprof.flop import TENSOR_RATES, count_flop, packed_fp32_possible
from kprof.gpuspec import resolve_gpu

NO_FLOP: dict[str, Any] = {
    f"{kind}_{operation}": 0.0 for kind in ("fp32", "fp16", "fp64") for operation in ("add", "mul", "fma")
}


def counted(compute_capability: str | None = "9.0", **values: Any) -> Any:
    """The FLOP of a launch that did nothing but what is said."""
    return count_flop(Quantities(**{**NO_FLOP, "tensor_pct": 0.0, **values}), compute_capability)


def test_halves_that_only_set_registers_are_no_flop() -> None:
    """ptxas moves constants by HFMA2.MMA; half arithmetic shows among the FMA pipe's FP16 instructions."""
    moves = {"fp16_fma": 640.0, "fp16_add": 0.0, "fp16_mul": 0.0, "fma_fp16_pct": 0.0}
    assert counted(**moves).fp16 == 0.0
    assert counted(**{**moves, "fma_fp16_pct": 75.0}).fp16 == 2560.0
    assert counted(**{**moves, "fp16_add": 1.0}).fp16 == 2562.0
    assert counted(**{**moves, "fma_fp16_pct": None}).fp16 == 2560.0


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ({"fp32_add": 10.0, "fp32_mul": 20.0, "fp32_fma": 30.0}, 90.0),
        ({"fp32_fma": 30.0, "fp32_add2": 1.0, "fp32_mul2": 2.0, "fp32_fma2": 3.0}, 78.0),
        ({"fp16_add": 1.0, "fp16_mul": 2.0, "fp16_fma": 3.0}, 18.0),
        ({"fp64_add": 1.0, "fp64_mul": 2.0, "fp64_fma": 3.0}, 9.0),
        ({"tensor_flop": {"bf16": 100.0, "tf32": 0.0, "int8": 1000.0}}, 100.0),
        ({}, 0.0),
    ],
)
def test_weights(values: dict[str, Any], total: float) -> None:
    assert counted(**values).total == total


@pytest.mark.parametrize("name", sorted(NO_FLOP))
def test_a_sum_over_a_missing_counter_is_missing(name: str) -> None:
    flop = counted(**{name: None})
    assert flop.total is None
    assert getattr(flop, name.partition("_")[0]) is None
    assert [part is None for part in (flop.fp32, flop.fp16, flop.fp64)].count(True) == 1


@pytest.mark.parametrize(
    ("compute_capability", "packed", "fp32"),
    [
        ("9.0", {}, 60.0),
        ("8.9", {}, 60.0),
        (None, {}, 60.0),
        ("10.0", {}, None),
        ("12.0", {}, None),
        ("10.0", {"fp32_add2": 0.0, "fp32_mul2": 0.0, "fp32_fma2": 5.0}, 80.0),
        ("10.0", {"fp32_fma2": 5.0}, None),
        (None, {"fp32_fma2": 5.0}, None),
    ],
)
def test_packed_fp32_is_needed_where_the_chip_has_it(
    compute_capability: str | None, packed: dict[str, float], fp32: float | None
) -> None:
    assert counted(compute_capability, fp32_fma=30.0, **packed).fp32 == fp32


def test_which_chips_have_packed_fp32() -> None:
    found = {one: packed_fp32_possible(one) for one in ("7.0", "8.6", "9.0", "10.0", "10.3", "12.0")}
    assert [one for one, possible in found.items() if possible] == ["10.0", "10.3", "12.0"]


@pytest.mark.parametrize(
    ("values", "idle"),
    [
        ({"tensor_pct": 0.0}, True),
        ({"tensor_pct": 1.88, "matrix_pct": 0.0, "tensor_fp64_pct": 0.0, "tensor_int_pct": 0.0}, True),
        ({"tensor_pct": 1.88, "matrix_pct": 0.0, "tensor_fp64_pct": 0.0}, False),
        ({"tensor_pct": 50.0}, False),
        ({"tensor_pct": None}, False),
    ],
)
def test_tensor_flop_that_nobody_counted_are_0_only_where_the_pipe_was_idle(values: dict[str, Any], idle: bool) -> None:
    assert Quantities(**values).tensor_is_idle is idle
    assert counted(**values).tensor == ({} if idle else None)


def test_the_recorded_fma_kernel_counts_what_it_was_written_to_do() -> None:
    blocks, threads, iterations, chains = 8 * 132, 256, 4096, 8
    flop = count_flop(probe("fma_fp32"), "9.0")
    assert flop.fp32 == pytest.approx(2 * blocks * threads * iterations * chains, rel=1e-3)
    assert flop.tensor == {}


def test_the_recorded_mma_kernel_counts_what_it_was_written_to_do() -> None:
    flop = count_flop(probe("mma_fp16"), "9.0")
    assert flop.tensor == {"fp16": float(8 * 132 * 8 * 2048 * 4 * (2 * 16 * 8 * 16))}


def test_every_tensor_type_has_a_peak_that_boards_know() -> None:
    peaks = resolve_gpu("b200-180gb").peaks
    assert all(hasattr(peaks, of) for of in TENSOR_RATES.values())
