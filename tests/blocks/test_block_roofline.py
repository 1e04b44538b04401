"""The block roofline, on recorded launches and on what reports may lack."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from recorded_ncu import changed, every_launch, h200, probe, profile, quantities_of

from kprof.audit import audit
from kprof.blocks.base import null_paths
from kprof.blocks.roofline import RooflineBlock, roofline_block
from kprof.counter_profile import CounterProfile, Finding
from kprof.counters.combine import combine
from kprof.counters.quantities import Quantities
from kprof.evidence import Reason
from kprof.metrics import describe
from kprof.roofline import RoofChoice

GEMM = quantities_of("library-kernels", 0)
COPY = probe("dram_copy")
LARGE = probe("logsumexp_kernel", 1)
UNKNOWN = Reason(code="spec_unknown", message="no board that kprof knows", hint="Say which: --gpu NAME.")
PLOT_NULLS = {"compute_roof", "memory_roof", "not_compared"}


def block_of(found: Quantities, *findings: Finding, **changes: Any) -> RooflineBlock:
    return roofline_block(profile(changed(found, **changes), h200(), *findings))


def without_board(found: Quantities, **changes: Any) -> RooflineBlock:
    return roofline_block(CounterProfile(changed(found, **changes), None, UNKNOWN))


def told(block: RooflineBlock) -> dict[str, str]:
    """Reasons of what is no part of the plot."""
    return {path: code for path, code in block.reasons.items() if "[" not in path}


def test_the_recorded_gemm() -> None:
    block = block_of(GEMM)
    assert block.status == "ok"
    assert block.tensor_flop == {"bf16": 1116691496960.0}
    assert block.total_flop == 1116691496960.0
    assert block.tensor_tflops == {"bf16": pytest.approx(802.63, abs=0.01)}
    assert block.tensor_util_pct == {"bf16": pytest.approx(81.12, abs=0.01)}
    assert block.tensor_util_at_clock_pct == {"bf16": pytest.approx(93.49, abs=0.01)}
    assert (block.roof_type, block.ridge_point) == ("bf16", pytest.approx(206.1, abs=0.05))
    assert block.attainable_tflops == 989.4
    assert block.roofline_pct == pytest.approx(81.12, abs=0.01)
    assert block.sm_clock_mhz == pytest.approx(1587.9, abs=0.1)
    assert (block.peak_bandwidth_gbs, block.peak_fp32_tflops, block.peak_fp16_tflops) == (4800.0, 66.9, 989.4)
    assert told(block) == {}
    # wgmma reads operands that TMA brought: L1 looked up almost none of them.
    assert [warning.code for warning in block.warnings] == ["l1_bypassed"]


def test_the_large_logsumexp() -> None:
    block = block_of(LARGE)
    assert block.dram_bandwidth_gbs == pytest.approx((LARGE.dram_bytes or 0) / 217280)
    assert block.dram_read_gbs is not None
    assert block.dram_write_gbs is not None
    assert block.dram_read_gbs + block.dram_write_gbs == pytest.approx(block.dram_bandwidth_gbs)
    assert block.dram_read_gbs * 217280 == pytest.approx(4 * 8192 * 4096 * 4, rel=0.02)
    assert block.dram_util_pct == pytest.approx(63.76, abs=0.01)
    assert block.dram_busy_pct == 63.61
    at_clock = 132 * 256 * 1943.34384205e6
    assert block.fp32_util_at_clock_pct == pytest.approx((block.fp32_util_pct or 0) * 66.9e12 / at_clock)
    assert block.arithmetic_intensity == pytest.approx((block.total_flop or 0) / (LARGE.dram_bytes or 0))
    assert block.l2_arithmetic_intensity == pytest.approx((block.total_flop or 0) / (LARGE.l2_bytes or 0))
    assert block.l1_arithmetic_intensity == pytest.approx((block.total_flop or 0) / (LARGE.l1_bytes or 0))
    assert block.attainable_tflops == pytest.approx(4.8 * (block.arithmetic_intensity or 0))
    # Under the slope of the roof, the share of it is the share of the bandwidth.
    assert block.roofline_pct == pytest.approx(block.dram_util_pct)
    assert (block.tensor_tflops, block.tensor_util_pct) == ({}, {})
    assert (block.warnings, told(block)) == ((), {})


def test_the_plot() -> None:
    block = block_of(LARGE)
    assert block.ceilings is not None
    assert block.points is not None
    assert [(one.name, one.level, one.source) for one in block.ceilings] == [
        ("DRAM", "dram", "spec"),
        ("L2", "l2", "spec, measured"),
        ("L1", "l1", "spec"),
        ("FP32", "compute", "spec"),
    ]
    assert [one.bandwidth_gbs for one in block.ceilings] == [4800.0, 9900.0, pytest.approx(33454.08), None]
    assert [one.peak_tflops for one in block.ceilings] == [None, None, None, 66.9]
    assert [one.level for one in block.points] == ["dram", "l2", "l1"]
    assert {one.achieved_tflops for one in block.points} == {(block.total_flop or 0) / 217280e-9 / 1e12}
    for point in block.points:
        assert point.achieved_tflops is not None
        assert point.bandwidth_gbs is not None
        assert point.arithmetic_intensity == pytest.approx(point.achieved_tflops * 1e3 / point.bandwidth_gbs)
    assert set(block.reasons.values()) == PLOT_NULLS


def test_a_kernel_without_flop_keeps_its_point() -> None:
    block = block_of(COPY)
    assert (block.arithmetic_intensity, block.attainable_tflops, block.total_flop) == (0.0, 0.0, 0.0)
    assert told(block) == {"roofline_pct": "no_flop"}
    assert block.points is not None
    assert (block.points[0].achieved_tflops, block.points[0].arithmetic_intensity) == (0.0, 0.0)
    assert block.points[0].bandwidth_gbs == pytest.approx(3969.83, abs=0.01)
    assert (block.roof_type, block.ridge_point) == ("fp32", pytest.approx(13.94, abs=0.01))


def test_no_bytes_leave_the_peak() -> None:
    block = block_of(GEMM, dram_bytes=0.0)
    assert told(block) == {"arithmetic_intensity": "no_bytes"}
    assert (block.attainable_tflops, block.dram_bandwidth_gbs) == (989.4, 0.0)


def test_a_part_of_flop_that_was_not_counted_takes_the_total_with_it() -> None:
    block = block_of(LARGE, fp16_fma=None)
    gone = ("total_flop", "fp16_tflops", "arithmetic_intensity", "attainable_tflops", "roofline_pct")
    levels = ("l2_arithmetic_intensity", "l1_arithmetic_intensity")
    assert told(block) == dict.fromkeys((*gone, *levels), "counter_not_collected")
    assert block.fp32_tflops is not None
    assert block.ridge_point == pytest.approx(13.94, abs=0.01)


def test_a_busy_tensor_pipe_whose_operations_nobody_counted() -> None:
    block = block_of(GEMM, tensor_flop={})
    assert block.tensor_tflops is None
    assert block.total_flop is None
    assert set(told(block).values()) == {"tensor_counters_not_collected"}
    assert {"tensor_tflops", "tensor_util_pct", "arithmetic_intensity", "roofline_pct"} <= set(told(block))


def test_packed_fp32_of_a_chip_that_has_them() -> None:
    spec = msgspec.structs.replace(h200(), compute_capability="10.0")
    block = roofline_block(profile(LARGE, spec))
    assert block.fp32_tflops is None
    assert block.reasons["fp32_tflops"] == block.reasons["total_flop"] == "packed_fp32_not_collected"


def test_integer_operations_are_no_flop() -> None:
    block = block_of(GEMM, tensor_flop={"int8": 2e12, "bf16": 0.0})
    assert block.total_flop == 0.0
    assert block.tensor_tflops == {"int8": pytest.approx(2e12 / 1391296e-9 / 1e12)}
    assert block.tensor_util_pct == {"int8": pytest.approx(2e12 / 1391296e-9 / 1978.9e12 * 100)}
    assert "integer_operations" in [warning.code for warning in block.warnings]


def test_a_type_without_a_peak() -> None:
    block = block_of(GEMM, tensor_flop={"int4": 2e12})
    assert block.tensor_util_pct == {"int4": None}
    assert block.reasons["tensor_util_pct.int4"] == "no_peak_for_type"


def test_a_board_without_a_spec_uses_the_reports_own_peaks() -> None:
    block = without_board(LARGE)
    assert block.status == "ok"
    assert block.warnings == (UNKNOWN,)
    assert block.peak_bandwidth_gbs == pytest.approx(4810.88, abs=0.01)
    assert block.peak_fp32_tflops == pytest.approx(33792 * 1943.344e6 / 1e12, rel=1e-6)
    assert block.fp32_util_pct == block.fp32_util_at_clock_pct
    assert block.ceilings is not None
    assert {one.source for one in block.ceilings} == {"counters"}
    assert told(block) == {"peak_fp16_tflops": "spec_unknown"}
    gemm = without_board(GEMM)
    assert gemm.tensor_util_pct == {"bf16": None}
    assert {"roof_type", "ridge_point", "attainable_tflops", "roofline_pct"} < set(told(gemm))
    assert set(told(gemm).values()) == {"spec_unknown"}


def test_without_any_roof() -> None:
    block = without_board(LARGE, dram_peak_bytes_per_s=None, fp32_peak_per_cycle=None, l2_peak_bytes_per_s=None)
    assert block.dram_bandwidth_gbs is not None
    assert set(told(block).values()) == {"spec_unknown"}
    assert {"dram_util_pct", "fp32_util_pct", "peak_bandwidth_gbs", "ridge_point"} <= set(told(block))
    nobody_said = roofline_block(CounterProfile(changed(LARGE, dram_peak_bytes_per_s=None)))
    assert nobody_said.reasons["dram_util_pct"] == "spec_unknown"


@pytest.mark.parametrize(("choice", "bandwidth"), [("spec", 4800.0), ("counters", pytest.approx(4810.88, abs=0.01))])
def test_which_roof_comes_first(choice: RoofChoice, bandwidth: float) -> None:
    block = roofline_block(profile(LARGE, h200()), choice)
    assert block.peak_bandwidth_gbs == bandwidth
    assert block.dram_util_pct == pytest.approx(100 * (block.dram_bandwidth_gbs or 0) / (block.peak_bandwidth_gbs or 0))
    # The report has no dense tensor peak: the spec's stands in.
    assert block.peak_fp16_tflops == 989.4


def test_a_clock_above_the_boards_is_null() -> None:
    block = block_of(LARGE, sm_clock_hz=2.14e9)
    assert told(block) == dict.fromkeys(("sm_clock_mhz", "fp32_util_at_clock_pct"), "implausible_clock")
    assert block.status == "ok"
    assert told(block_of(LARGE, sm_clock_hz=None))["sm_clock_mhz"] == "counter_not_collected"


def test_without_a_duration_intensities_stay() -> None:
    block = block_of(LARGE, duration_ns=None)
    assert block.arithmetic_intensity == block_of(LARGE).arithmetic_intensity
    assert block.tensor_flop == {}
    rates = ("dram_bandwidth_gbs", "dram_read_gbs", "fp32_tflops", "tensor_tflops", "roofline_pct", "fp32_util_pct")
    assert {block.reasons[name] for name in rates} == {"counter_not_collected"}
    zero = block_of(LARGE, duration_ns=0.0)
    assert zero.reasons["fp32_tflops"] == zero.reasons["roofline_pct"] == "no_duration"


def test_a_finding_makes_it_suspect_and_keeps_the_numbers() -> None:
    wrong = changed(COPY, dram_bytes=6e12)
    block = roofline_block(profile(wrong, h200(), *audit(wrong, h200())))
    assert block.status == "suspect"
    assert block.reason is not None
    assert block.reason.code == "dram_over_peak"
    assert block.dram_util_pct == pytest.approx(6e12 / 535680e-9 / 4800e9 * 100)
    other = Finding("hit_rate_over_100", "L2 hit rate is 120 %", ("l2_hit_sectors",))
    assert block_of(COPY, other).status == "ok"


def test_a_report_with_none_of_it() -> None:
    block = block_of(Quantities(duration_ns=5.0, issue_pct=3.0))
    assert block.status == "unavailable"
    assert block.reason is not None
    assert set(block.reasons.values()) == {block.reason.code} == {"counter_not_collected"}


def test_several_launches_are_sums_over_sums() -> None:
    block = block_of(combine([GEMM, LARGE]))
    time = 1391296 + 217280
    assert block.total_flop == pytest.approx(1116691496960 + (block_of(LARGE).total_flop or 0))
    assert block.dram_bandwidth_gbs == pytest.approx(((GEMM.dram_bytes or 0) + (LARGE.dram_bytes or 0)) / time)
    assert block.roof_type == "bf16"


def test_several_launches_of_unlike_types_stand_under_the_roof_of_their_mix() -> None:
    launches = [probe("fma_fp32"), probe("mma_fp16")]
    block = block_of(combine(launches))
    least_us = sum(block_of(one).roofline_pct * (one.duration_ns or 0.0) / 1e5 for one in launches)  # type: ignore[operator]
    took_us = sum(one.duration_ns or 0.0 for one in launches) / 1e3
    assert block.roofline_pct == pytest.approx(100 * least_us / took_us, rel=1e-3)
    assert [warning.code for warning in block.warnings] == ["mixed_types"]
    assert not any(warning.code == "mixed_types" for one in launches for warning in block_of(one).warnings)


def test_a_peak_of_ncus_below_what_moved_is_no_roof() -> None:
    wrong = changed(COPY, dram_peak_bytes_per_s=1e6)
    block = roofline_block(profile(wrong, h200(), *audit(wrong, h200())), "counters")
    assert block.peak_bandwidth_gbs == 4800.0
    assert [warning.code for warning in block.warnings] == ["peak_below_traffic"]


@pytest.mark.parametrize(("report", "launch_id"), every_launch())
def test_every_null_of_every_recorded_launch_has_its_reason(report: str, launch_id: int) -> None:
    quantities = quantities_of(report, launch_id)
    for block in (block_of(quantities), without_board(quantities)):
        assert set(block.reasons) == set(null_paths(block))
        assert all(block.reasons.values())
        assert block.status == "ok"


def test_each_missing_counter_is_explained() -> None:
    for name in Quantities.__struct_fields__:
        if isinstance(getattr(LARGE, name), float):
            block = block_of(LARGE, **{name: None})
            assert set(block.reasons) == set(null_paths(block))
            assert all(block.reasons.values()), name


def test_every_field_has_its_unit() -> None:
    assert describe(RooflineBlock)["ceilings[].bandwidth_gbs"].unit == "GB/s"
    assert describe(RooflineBlock)["tensor_util_pct"].unit == "%"
