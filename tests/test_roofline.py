"""Roofline arithmetic: roofs, clocks, what is attainable; on recorded launches and with parts missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_ncu import changed, every_launch, h200, probe, quantities_of

from kprof.counters.quantities import Quantities
from kprof.flop import count_flop
from kprof.gpuspec import resolve_gpu
from kprof.roofline import (
    Roof,
    attainable,
    bandwidth_roof,
    compute_roof,
    dominant,
    intensity,
    mixed_peak,
    observed_clock_hz,
    peak_at_clock,
    rate,
)

GEMM = quantities_of("library-kernels", 0)


def test_the_recorded_gemm_and_its_roof() -> None:
    flop = count_flop(GEMM, "9.0")
    assert flop.tensor == {"bf16": 1116691496960.0}
    assert flop.total == pytest.approx(1.1167e12, rel=1e-4)
    assert flop.by_rate() == {"bf16": 1116691496960.0}
    assert GEMM.duration_ns is not None
    assert rate(flop.total, GEMM) == pytest.approx(1116691496960 / 1391296e-9)
    # At the clock of the run the pipe was as busy as its own counter says.
    peak = peak_at_clock("bf16", GEMM, h200(), observed_clock_hz(GEMM, h200()))
    assert peak is not None
    assert 100 * (rate(flop.total, GEMM) or 0) / peak == pytest.approx(GEMM.tensor_pct, abs=0.05)


@pytest.mark.parametrize(
    ("board", "of", "ridge"),
    [("h100-sxm5-80gb", "fp32", 20.0), ("h100-sxm5-80gb", "bf16", 295.3), ("h200-sxm-141gb", "bf16", 206.1)],
)
def test_ridge_points_of_boards(board: str, of: str, ridge: float) -> None:
    spec = resolve_gpu(board)
    peak, bandwidth = compute_roof(of, GEMM, spec, "spec"), bandwidth_roof("dram", GEMM, spec, "spec")
    assert peak is not None
    assert bandwidth is not None
    assert peak.per_second / bandwidth.per_second == pytest.approx(ridge, abs=0.05)


def test_roofs_of_the_spec() -> None:
    found = {level: bandwidth_roof(level, GEMM, h200(), "spec") for level in ("dram", "l2", "l1")}  # type: ignore[arg-type]
    assert found == {
        "dram": Roof(4800e9, "spec"),
        "l2": Roof(9900e9, "spec, measured"),
        "l1": Roof(132 * 128 * 1980e6, "spec"),
    }


def test_roofs_of_the_report() -> None:
    q = probe("dram_copy")
    clock = observed_clock_hz(q, None)
    assert clock is not None
    assert bandwidth_roof("dram", q, None, "spec") == Roof(4811744324968.64, "counters")
    assert bandwidth_roof("dram", q, h200(), "counters") == Roof(4811744324968.64, "counters")
    assert bandwidth_roof("l1", q, None, "spec") == Roof(132 * 128 * clock, "counters")
    assert compute_roof("fp32", q, None, "spec") == Roof(132 * 256 * clock, "counters")
    # A report states no dense tensor peak: with a spec that one serves, without one there is none.
    assert compute_roof("bf16", q, h200(), "counters") == Roof(989.4e12, "spec")
    assert compute_roof("bf16", q, None, "counters") is None


def test_a_clock_above_the_boards_is_none() -> None:
    q = changed(GEMM, sm_clock_hz=2.14e9)
    assert observed_clock_hz(q, h200()) is None
    assert observed_clock_hz(changed(q, max_sm_clock_khz=None), h200()) is None
    assert observed_clock_hz(changed(q, max_sm_clock_khz=None), None) == 2.14e9
    assert observed_clock_hz(changed(GEMM, sm_clock_hz=1.99e9), h200()) == 1.99e9


def test_the_dominant_type_takes_most_time_at_its_peak() -> None:
    roofs = {"fp32": Roof(67e12, "spec"), "bf16": Roof(989e12, "spec"), "fp8": None}
    assert dominant({"bf16": 9.0, "fp32": 1.0}, roofs) == "fp32"
    assert dominant({"bf16": 20.0, "fp32": 1.0}, roofs) == "bf16"
    assert dominant({"fp32": 5.0, "fp8": 1.0}, roofs) == "fp32"
    assert dominant({"fp32": 5.0, "fp8": 6.0}, roofs) is None
    assert dominant({"fp8": 6.0}, roofs) is None
    assert dominant({}, roofs) is None


def test_the_peak_of_a_mix() -> None:
    roofs = {"fp32": Roof(100.0, "spec"), "bf16": Roof(1000.0, "spec"), "fp8": None}
    work = {"fp32": 100.0, "bf16": 1000.0}
    assert mixed_peak(work, roofs, overlap=False) == 550.0
    assert mixed_peak(work, roofs, overlap=True) == 1100.0
    assert mixed_peak({"bf16": 5.0}, roofs, overlap=False) == 1000.0
    assert mixed_peak({"fp8": 5.0}, roofs, overlap=True) is None


def test_intensity_and_rate_without_bytes_or_time() -> None:
    assert intensity(10.0, 0.0) is None
    assert intensity(None, 4.0) is None
    assert intensity(0.0, 4.0) == 0.0
    assert rate(5.0, Quantities(duration_ns=0.0)) is None
    assert rate(5.0, Quantities()) is None
    assert rate(5.0, Quantities(duration_ns=2.0)) == pytest.approx(2.5e9)


@given(*[st.floats(1.0, 1e15)] * 4)
def test_attainable_is_under_both_roofs_and_on_one(peak: float, bandwidth: float, flop: float, moved: float) -> None:
    limit = attainable(peak, bandwidth, flop, moved)
    assert limit <= peak
    assert limit <= flop / moved * bandwidth
    assert limit in (peak, flop / moved * bandwidth)
    assert attainable(peak, bandwidth, flop, 0.0) == peak


@pytest.mark.parametrize(("report", "launch_id"), every_launch())
def test_no_recorded_launch_passes_its_roofs(report: str, launch_id: int) -> None:
    q = quantities_of(report, launch_id)
    flop = count_flop(q, "9.0")
    assert flop.total is not None
    for of, count in flop.by_rate().items():
        peak = peak_at_clock(of, q, h200(), 1980e6)
        assert peak is not None
        assert 0 < (rate(count, q) or 0) < peak
