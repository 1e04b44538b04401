"""The audit: no false alarm on what was recorded, and one finding for each way to break physics."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from recorded_ncu import changed, every_launch, h200, probe, quantities_of

from kprof.audit import LIMITS, LITTLE_TRAFFIC, SHORT_KERNEL, audit, inherited
from kprof.board import GpuSpec
from kprof.counter_profile import Finding
from kprof.counters.combine import combine
from kprof.counters.quantities import Quantities
from kprof.gpuspec import resolve_gpu

GEMM = quantities_of("library-kernels", 0)
COPY = probe("dram_copy")
TINY = probe("logsumexp_kernel")
FP32 = ("fp32_add", "fp32_mul", "fp32_fma", "fp32_add2", "fp32_mul2", "fp32_fma2")
LOADS = ("load_sectors_per_request", "load_sectors", "load_requests")
DRAM = ("dram_bytes", "dram_read_bytes", "dram_write_bytes")


def found(quantities: Quantities, spec: GpuSpec | None = None, **changes: Any) -> dict[str, tuple[str, ...]]:
    """Quantities by the code of the finding on them."""
    return {one.code: one.quantities for one in audit(changed(quantities, **changes), spec)}


@pytest.mark.parametrize(("report", "launch_id"), every_launch())
@pytest.mark.parametrize("board", ["h200-sxm-141gb", None])
def test_what_was_recorded_breaks_nothing(report: str, launch_id: int, board: str | None) -> None:
    quantities = quantities_of(report, launch_id)
    codes = {one.code for one in audit(quantities, resolve_gpu(board) if board else None)}
    assert quantities.duration_ns is not None
    long_enough = quantities.duration_ns >= LIMITS.short_us * 1e3
    assert codes <= ({LITTLE_TRAFFIC} if long_enough else {SHORT_KERNEL})


def test_recorded_rates_over_100_are_of_hardly_any_traffic() -> None:
    odd = {one: audit(quantities_of(*one), h200()) for one in every_launch()}
    assert [one for one, findings in odd.items() if any(f.code == LITTLE_TRAFFIC for f in findings)] == [
        ("probes", 3),
        ("probes", 10),
    ]
    (finding,) = audit(probe("fma_fp32"), h200())
    assert finding.quantities == ("l2_hit_rate_pct", "l2_hit_sectors")
    assert "112.1 % of 5624 sectors" in finding.message


def test_recorded_short_kernels_whose_passes_disagree() -> None:
    findings = audit(quantities_of("library-kernels", 21), h200())
    assert [(one.code, one.quantities) for one in findings] == [(SHORT_KERNEL, ("stall_cycles",))]
    assert "below 10 us (2.59 us)" in findings[0].message


@pytest.mark.parametrize(
    ("quantities", "changes", "code", "names"),
    [
        (COPY, {"dram_busy_pct": 105.1}, "over_peak", ("dram_busy_pct",)),
        (COPY, {"issue_pct": 300.0}, "over_peak", ("issue_pct",)),
        (COPY, {"l2_sectors": -1.0}, "negative_value", ("l2_sectors",)),
        (GEMM, {"tensor_flop": {"bf16": -1.0}}, "negative_value", ("tensor_flop",)),
        (COPY, {"theoretical_occupancy_pct": 95.4}, "occupancy_over_theoretical", ("occupancy_pct",)),
        (COPY, {"issue_active_ratio": 1.06}, "issue_over_one", ("issue_active_ratio",)),
        (COPY, {"load_sectors": 1000.0, "load_requests": 2.0}, "sectors_over_request", LOADS),
        (COPY, {"threads_per_instruction": 32.1}, "threads_over_warp", ("threads_per_instruction",)),
        (COPY, {"sm_clock_hz": 2.01e9}, "implausible_clock", ("sm_clock_hz",)),
        (COPY, {"sm_clock_hz": 1980.0}, "implausible_clock", ("sm_clock_hz",)),
        (COPY, {"sm_cycles_active_avg": 1.08e6}, "active_over_elapsed", ("sm_cycles_active_avg", "sm_cycles_elapsed")),
        (COPY, {"l2_hit_sectors": 1.1e8}, "hit_rate_over_100", ("l2_hit_rate_pct", "l2_hit_sectors")),
        (COPY, {"l1_hit_rate_pct": 100.39}, "hit_rate_over_100", ("l1_hit_rate_pct", "l1_hit_sectors")),
        (COPY, {"warp_cycles_per_instruction": 280.0}, "stall_sum_mismatch", ("stall_cycles",)),
        (COPY, {"dram_bytes": 5200.0 * 535680}, "dram_over_peak", DRAM),
        (COPY, {"dram_peak_bytes_per_s": 481e9}, "peak_below_traffic", ("dram_peak_bytes_per_s",)),
        (GEMM, {"tensor_flop": {"bf16": 0.0, "fp16": 0.0}}, "tensor_flop_missing", ("tensor_flop",)),
        (GEMM, {"tensor_flop": {"bf16": 1130e12 * 1391296e-9}}, "flop_over_peak", ("tensor_flop",)),
        (GEMM, {"fp32_fma": 36e12 * 1391296e-9}, "flop_over_peak", FP32),
    ],
)  # fmt: skip
def test_one_finding_for_each_contradiction(
    quantities: Quantities, changes: dict[str, Any], code: str, names: tuple[str, ...]
) -> None:
    assert found(quantities, h200()) == {}
    assert found(quantities, h200(), **changes) == {code: names}


@pytest.mark.parametrize(
    ("quantities", "changes"),
    [
        (COPY, {"dram_busy_pct": 104.9}),
        (COPY, {"theoretical_occupancy_pct": 95.5}),
        (COPY, {"issue_active_ratio": 1.0}),
        (COPY, {"threads_per_instruction": 32.0}),
        (COPY, {"sm_clock_hz": 1.99e9}),
        # Over the pins' 4917 GB/s, and within 5 % of the 4800 that are specified; ncu's own peak is 4811.
        (COPY, {"dram_bytes": 5030.0 * 535680}),
        # Over the 989 TFLOP/s stated at 1830 MHz, under the 1070 of 1980.
        (GEMM, {"tensor_flop": {"bf16": 1060e12 * 1391296e-9}}),
        (GEMM, {"matrix_pct": 0.4, "tensor_flop": {"bf16": 0.0}}),
        # FP16 vector instructions keep that pipe busy without a matrix product.
        (GEMM, {"matrix_pct": 0.0, "tensor_flop": {"bf16": 0.0}}),
        (GEMM, {"tensor_flop": {}}),
    ],
)
def test_what_is_odd_but_possible(quantities: Quantities, changes: dict[str, Any]) -> None:
    assert found(quantities, h200(), **changes) == {}


def test_without_a_spec_the_reports_own_peaks_serve() -> None:
    assert found(COPY, None, dram_bytes=5100.0 * 535680) == {"dram_over_peak": DRAM}
    assert found(GEMM, None, fp32_fma=36e12 * 1391296e-9) == {"flop_over_peak": FP32}
    assert found(GEMM, None, tensor_flop={"bf16": 1e15}) == {}
    assert found(GEMM, None, tensor_flop={"bf16": 1e20}) == {"beyond_any_board": ("tensor_flop",)}
    assert found(COPY, None, dram_bytes=1e10, dram_peak_bytes_per_s=None) == {}
    assert found(COPY, None, dram_bytes=1e15, dram_peak_bytes_per_s=None) == {"beyond_any_board": DRAM}


def test_a_board_that_accumulates_faster_in_fp16_is_allowed_it() -> None:
    ada = resolve_gpu("rtx-4090-24gb")
    quantities = Quantities(duration_ns=1e6, sm_clock_hz=2.5e9)
    assert found(quantities, ada, tensor_flop={"fp16": 300e12 * 1e-3}) == {}
    assert found(quantities, ada, tensor_flop={"bf16": 300e12 * 1e-3}) == {"flop_over_peak": ("tensor_flop",)}


def test_fp64_on_tensor_cores_and_off_them_have_peaks_of_their_own() -> None:
    quantities = Quantities(duration_ns=1e6, fp64_add=0.0, fp64_mul=0.0, fp64_fma=20e12 * 1e-3)
    assert found(quantities, h200(), tensor_flop={"fp64": 60e12 * 1e-3}) == {
        "flop_over_peak": ("fp64_add", "fp64_mul", "fp64_fma")
    }


def test_passes_of_a_short_kernel_disagree_by_nature() -> None:
    broken: dict[str, Any] = {"sm_clock_hz": 2.14e9, "occupancy_pct": 150.0, "theoretical_occupancy_pct": 100.0}
    assert found(TINY, h200()) == {}
    # What is over its own peak in one pass is wrong in a short kernel too.
    assert found(TINY, h200(), **broken) == {
        "over_peak": ("occupancy_pct",),
        SHORT_KERNEL: ("occupancy_pct", "sm_clock_hz"),
    }
    long_ones = found(TINY, h200(), duration_ns=1e4, **broken)
    assert set(long_ones) == {"over_peak", "occupancy_over_theoretical", "implausible_clock"}


def test_many_short_launches_are_short_together() -> None:
    together = combine([TINY] * 10)
    assert together.duration_ns is not None
    assert together.duration_ns > LIMITS.short_us * 1e3
    assert set(found(together, h200(), sm_clock_hz=2.14e9)) == {SHORT_KERNEL}
    # Ten times the little traffic of one is no traffic to speak of.
    assert set(found(together, h200(), l2_hit_sectors=60_000.0)) == {LITTLE_TRAFFIC}


def test_nothing_measured_breaks_nothing() -> None:
    assert audit(Quantities(), h200()) == ()
    assert audit(Quantities(), None) == ()


def test_a_finding_says_the_numbers() -> None:
    (finding,) = audit(changed(COPY, dram_bytes=5200.0 * 535680), h200())
    assert finding.message == "5200 GB/s of DRAM traffic, of 4800 that the memory can do"
    (finding,) = audit(changed(GEMM, tensor_flop={"bf16": 1130e12 * 1391296e-9}), h200())
    assert "1130 TFLOP/s of bf16" in finding.message
    assert "1070.5" in finding.message
    assert "sparsity" in finding.message


def test_limits_are_the_callers() -> None:
    strict = dataclasses.replace(LIMITS, peak_pct=80.0)
    assert {one.code for one in audit(COPY, h200(), strict)} == {"over_peak", "peak_below_traffic"}


def test_what_all_launches_inherit_from_one() -> None:
    wrong = Finding("dram_over_peak", "5200 GB/s", DRAM)
    ignored = (Finding(SHORT_KERNEL, "passes disagree", ("sm_clock_hz",)), Finding(LITTLE_TRAFFIC, "112 %", ("x",)))
    launches = [(COPY, (wrong, *ignored)), (GEMM, ()), (COPY, (Finding("dram_over_peak", "6 TB/s", ("l2_bytes",)),))]
    (only,) = inherited(launches)
    assert only == Finding("dram_over_peak", "in 2 of 3 launches: 5200 GB/s", (*DRAM, "l2_bytes"))
    assert inherited([(GEMM, ()), (TINY, (wrong,))]) == ()
    assert inherited([]) == ()
