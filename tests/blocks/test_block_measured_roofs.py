"""Blocks on measured roofs: percentages of what programs reached, both roofs on the plot, and what a CPU can tell."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import msgspec
import pytest
from captures import cpu_run
from ceilings import ceiling, cpu_ceilings, h200_ceilings
from made_evidence import series
from ncu_data import DATA as NCU_DATA
from recorded_ncu import h200, probe, profile, quantities_of

from kprof.blocks.roofline import RooflineBlock, roofline_block
from kprof.blocks.sol import TaskTime, sol_block
from kprof.blocks.sol_records import SolBlock
from kprof.capture import Capture, decode_capture, encode_capture, load_capture
from kprof.ceilings_evidence import CeilingsEvidence
from kprof.counter_profile import CounterProfile
from kprof.counters.quantities import Quantities
from kprof.evidence import Fault
from kprof.floor import task_floor
from kprof.floor_evidence import FloorEvidence
from kprof.renderers.text import render
from kprof.report import build_report, report_schema
from kprof.roofline import RoofChoice

DATA = NCU_DATA.parent
COPY, READ = probe("dram_copy"), probe("l2_read")
GEMM = quantities_of("library-kernels", 0)
TASK = FloorEvidence(input_bytes=2**22, parameter_bytes=0, output_bytes=2**12, flop={"fp32": 10**6})


def on_h200(found: Quantities, ceilings: CeilingsEvidence | None) -> CounterProfile:
    return replace(profile(found, h200()), ceilings=ceilings)


def roofline(found: Quantities, choice: RoofChoice, ceilings: CeilingsEvidence | None) -> RooflineBlock:
    return roofline_block(on_h200(found, ceilings), choice)


def codes(block: RooflineBlock | SolBlock) -> list[str]:
    return [warning.code for warning in block.warnings]


def test_dram_is_held_against_the_roof_of_its_own_mix() -> None:
    copied, read = (roofline(found, "measured", h200_ceilings()) for found in (COPY, READ))
    assert copied.peak_bandwidth_gbs == pytest.approx(4000, rel=0.02)
    assert read.peak_bandwidth_gbs == pytest.approx(4500, rel=0.002)
    assert copied.dram_bandwidth_gbs is not None
    assert copied.peak_bandwidth_gbs is not None
    assert copied.dram_util_pct == pytest.approx(100 * copied.dram_bandwidth_gbs / copied.peak_bandwidth_gbs)


def test_both_roofs_are_there_the_chosen_one_first() -> None:
    spec = roofline(COPY, "spec", h200_ceilings())
    measured = roofline(COPY, "measured", h200_ceilings())
    assert spec.ceilings is not None
    assert measured.ceilings is not None
    assert [(one.name, one.source) for one in spec.ceilings if one.level == "dram"] == [
        ("DRAM", "spec"),
        ("DRAM, measured", "measured"),
    ]
    assert [(one.name, one.source) for one in measured.ceilings if one.level == "dram"] == [
        ("DRAM", "measured"),
        ("DRAM, spec", "spec"),
    ]
    assert {one.source for one in spec.ceilings if one.level == "compute"} == {"spec", "measured"}
    assert len({one.name for one in spec.ceilings}) == len(spec.ceilings)
    # Ridge points are those of the roofs that percentages are of.
    assert spec.ridges == roofline(COPY, "spec", None).ridges
    assert {one.bandwidth for one in measured.ridges or ()} == {"DRAM", "L2", "L1"}


def test_a_spec_report_is_the_same_but_for_the_roofs_beside() -> None:
    plain, beside = roofline(COPY, "spec", None), roofline(COPY, "spec", h200_ceilings())
    assert plain.ceilings is not None
    assert beside.ceilings is not None
    assert beside.ceilings[: len(plain.ceilings)] == plain.ceilings
    assert msgspec.structs.replace(beside, ceilings=None, reasons={}) == msgspec.structs.replace(
        plain, ceilings=None, reasons={}
    )


def test_what_was_not_measured_comes_from_the_spec_and_says_so() -> None:
    found = roofline(COPY, "measured", h200_ceilings(measured=(ceiling("dram_read", 4500e9),)))
    assert found.ceilings is not None
    assert {one.level: one.source for one in reversed(found.ceilings)}["compute"] == "spec"


def test_more_than_a_measured_roof_is_told_and_not_clamped() -> None:
    low = h200_ceilings(measured=(ceiling("dram_copy", 3000e9), ceiling("fp32", 60e12, "FLOP/s")))
    block, sol = roofline(COPY, "measured", low), sol_block(on_h200(COPY, low), roof="measured")
    assert block.dram_util_pct is not None
    assert block.dram_util_pct > 100
    assert "above_measured_roof" in codes(block)
    assert sol.dram_util_pct == pytest.approx(block.dram_util_pct)
    assert "above_measured_roof" in codes(sol)
    assert (block.status, sol.status) == ("ok", "ok")
    assert "above_measured_roof" not in codes(roofline(COPY, "spec", low))


def test_a_tensor_pipe_is_held_against_what_the_library_reached() -> None:
    of_spec = sol_block(on_h200(GEMM, None))
    measured = sol_block(on_h200(GEMM, h200_ceilings()), roof="measured")
    assert of_spec.dominant_pipe == measured.dominant_pipe == "tensor"
    assert of_spec.dominant_pipe_pct is not None
    assert measured.dominant_pipe_pct == pytest.approx(of_spec.dominant_pipe_pct * 989.4 / 800)


def test_measured_roofs_that_are_not_there_are_missed_aloud() -> None:
    block, sol = roofline(COPY, "measured", None), sol_block(on_h200(COPY, None), roof="measured")
    assert block.peak_bandwidth_gbs == 4800
    assert "ceilings_not_measured" in codes(block)
    assert "ceilings_not_measured" in codes(sol)
    assert "ceilings_not_measured" not in codes(sol_block(on_h200(COPY, None)))


def test_a_time_below_a_measured_floor_is_no_contradiction() -> None:
    floor = task_floor(TASK, None, cache="warm", ceilings=cpu_ceilings())
    assert floor.us is not None
    block = sol_block(None, TaskTime(floor, kernel_us=floor.us * 0.9))
    assert block.status == "ok"
    assert block.task_score == pytest.approx(1 / 0.9)
    assert "above_measured_roof" in codes(block)


def on_cpu(**changes: object) -> Capture:
    return cpu_run(
        **{"floor": TASK, "ceilings": cpu_ceilings(), "requested": ("timing", "sol", "bottleneck"), **changes}
    )


def test_a_run_on_the_cpu_has_a_floor_a_score_and_an_estimated_label() -> None:
    blocks = build_report(on_cpu()).blocks
    moved = 2**22 + 2**12
    assert (blocks.sol.status, blocks.sol.floor_bytes) == ("ok", moved)
    assert blocks.sol.floor_us == pytest.approx(moved / 151.5e9 * 1e6)
    assert blocks.sol.task_score == pytest.approx(moved / 151.5e9 * 1e6 / 20.0)
    assert blocks.sol.headroom == pytest.approx(1 / (blocks.sol.task_score or 1))
    bound = blocks.bottleneck
    assert (bound.status, bound.family, bound.limiter, bound.estimated) == ("ok", "memory", "cache", True)
    assert bound.reasons["kernel"] == "of_the_whole_task"


def test_without_measured_roofs_it_says_how_to_have_them() -> None:
    blocks = build_report(on_cpu(ceilings=None)).blocks
    assert blocks.sol.reasons["floor_us"] == "ceilings_not_measured"
    assert blocks.bottleneck.status == "unavailable"
    assert blocks.bottleneck.reasons["estimated"] == "no_cuda_device"


def test_the_report_has_the_roofs_it_rests_on_and_fits_its_schema() -> None:
    report = build_report(on_cpu())
    assert report.ceilings is not None
    assert report.ceilings.quick
    by_name = {one.name: one for one in report.ceilings.measured}
    assert by_name["fp32"].peak_tflops == pytest.approx(0.1)
    assert by_name["call"].time_us == 3.0
    assert by_name["dram_read"].spread_pct == pytest.approx(11.0)
    jsonschema.validate(json.loads(msgspec.json.encode(report)), report_schema())


def test_they_travel_in_the_capture_and_older_captures_have_none() -> None:
    capture = on_cpu()
    assert decode_capture(encode_capture(capture), "c.json") == capture
    plain = json.loads(encode_capture(capture))
    del plain["ceilings"]
    assert decode_capture(json.dumps(plain).encode(), "old.json").ceilings is None


def test_people_are_told_which_roofs_percentages_are_of() -> None:
    capture = load_capture(DATA / "h200" / "cuda_naive_4x8192x4096.json")
    with_roofs = msgspec.structs.replace(capture, ceilings=h200_ceilings())
    assert "of measured roofs" in render(build_report(with_roofs, roof="measured"))
    assert "of measured roofs" not in render(build_report(with_roofs))


def test_an_estimated_label_says_that_it_is_one() -> None:
    text = render(build_report(on_cpu()))
    assert "memory: cache (estimated from the least that the task asks for)" in text
    assert "FLOOR    faster than the floor" in text
    assert "hardware counters" not in text.split("not measured")[0].split("warnings")[0]


def timed(us: float) -> Capture:
    """A call on the CPU whose floor is 27.7 us."""
    return on_cpu(timing=msgspec.structs.replace(cpu_run().timing, series=(series("host", "warm", us, 900.0),)))


def estimated(us: float) -> str:
    report = build_report(timed(us))
    sol = msgspec.structs.replace(report.blocks.sol, floor_kind="upper_estimate")
    return render(msgspec.structs.replace(report, blocks=msgspec.structs.replace(report.blocks, sol=sol)))


def test_a_floor_that_may_be_too_high_is_no_bound_of_what_is_to_gain() -> None:
    known, slow, fast = render(build_report(timed(277.0))), estimated(277.0), estimated(20.0)
    assert "10.0 % of the best possible speed" in known
    assert "at most 10.0x to gain" in " ".join(known.split())
    assert "of the estimated best speed" in slow
    assert "to gain" not in slow
    assert "faster than the estimated floor: the estimate is too high" in " ".join(fast.split())
    assert "what to try" not in fast


def test_a_kernel_that_never_ran_has_no_label_and_no_advice() -> None:
    block = build_report(on_cpu(timing=None)).blocks.bottleneck
    assert (block.status, block.family, block.advice) == ("unavailable", None, None)
    assert block.reason is not None
    assert block.reason.code == "no_kernel_time"


def test_what_a_failed_load_took_away_is_put_down_to_the_load() -> None:
    fault = Fault(stage="load", side="kernel", code="raised", message="NameError: x")
    asked = ("timing", "launches", "waterfall", "sol", "bottleneck")
    capture = on_cpu(timing=None, launches=None, floor=None, faults=(fault,), requested=asked)
    blocks = build_report(capture).blocks
    for block in (blocks.sol, blocks.bottleneck, blocks.waterfall):
        assert (block.status, block.reason and block.reason.code) == ("skipped", "raised")
