"""Roofs as an H200 measured them: they can be true, and reports of runs on that board stand below them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kprof.capture import load_capture
from kprof.ceilings_check import believable, most_possible
from kprof.ceilings_evidence import CeilingsEvidence, encode_ceilings, load_ceilings
from kprof.commands.measured_roofs import with_ceilings
from kprof.gpuspec import resolve_gpu
from kprof.report import Report, build_report
from kprof.roofline import RoofChoice

DATA = Path(__file__).parent / "data"
FILE = DATA / "ceilings" / "h200.json"
H200 = resolve_gpu("h200-sxm-141gb")

IN_TABLE = {"shared memory": "shared", "FP16": "fp16_vector", "FP16 tensor": "fp16"}
SCALE = {"GB/s": 1e9, "TB/s": 1e12, "TFLOP/s": 1e12, "TOP/s": 1e12, "us": 1.0}


@pytest.fixture(scope="module")
def ceilings() -> CeilingsEvidence:
    return load_ceilings(FILE)


def large(ceilings: CeilingsEvidence, roof: RoofChoice) -> Report:
    capture = load_capture(DATA / "h200" / "cuda_naive_4x8192x4096.json")
    return build_report(with_ceilings(capture, ceilings), roof=roof)


def test_the_file_is_what_kprof_writes(ceilings: CeilingsEvidence) -> None:
    assert encode_ceilings(ceilings).decode() == FILE.read_text()


def test_none_of_them_is_refused(ceilings: CeilingsEvidence) -> None:
    assert (ceilings.absent, ceilings.warnings) == ({}, ())
    assert believable(ceilings, H200) == ceilings


def test_each_is_near_what_the_board_can_do_and_below_it(ceilings: CeilingsEvidence) -> None:
    most = most_possible(H200)
    shares = {name: one.median / most[name] for name in most if (one := ceilings.get(name)) is not None}
    assert len(shares) == 14
    # The libraries' INT8 products reach half of the peak; all others seven tenths at least.
    assert {name for name, share in shares.items() if not 0.69 < share < 1} == {"int8"}


def test_samples_lie_close_together(ceilings: CeilingsEvidence) -> None:
    for one in ceilings.measured:
        if one.unit != "us":
            assert one.worst <= one.median <= one.best < 1.02 * one.worst


def test_the_table_of_the_documentation_is_of_them(ceilings: CeilingsEvidence) -> None:
    table = (DATA.parents[1] / "docs" / "doctor.md").read_text().partition("| roof | median |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:5]] for line in table.splitlines()[2:]]
    assert len(rows) == len(ceilings.measured)
    for name, median, slowest, fastest in rows:
        one = ceilings.get(IN_TABLE.get(name) or name.lower().replace(" ", "_"))  # type: ignore[arg-type]
        assert one is not None, name
        value, unit = median.split()
        told = [float(number) * SCALE[unit] for number in (value, slowest, fastest)]
        assert told == pytest.approx([one.median, one.worst, one.best], rel=0.01), name


def test_a_run_on_that_board_is_held_against_them(ceilings: CeilingsEvidence) -> None:
    spec, measured = large(ceilings, "spec").blocks, large(ceilings, "measured").blocks
    dram = measured.roofline.ceilings[0]
    assert (dram.name, dram.source) == ("DRAM", "measured")
    # Four fifths of its traffic are reads: between the triad's 4362 GB/s and the reads' 4613.
    assert dram.bandwidth_gbs == pytest.approx(4467, abs=5)
    low, high = spec.roofline.dram_util_pct, measured.roofline.dram_util_pct
    assert low is not None
    assert high == pytest.approx(low * 4800 / (dram.bandwidth_gbs or 0.0))
    assert 60 < high < 70
    assert 0.55 < (spec.sol.task_score or 0.0) < (measured.sol.task_score or 0.0) < 0.65
    assert measured.roofline.warnings == ()


def test_a_kernel_that_does_better_than_the_roof_is_said_to(ceilings: CeilingsEvidence) -> None:
    """By roofs from before reads were tried in several orders of addresses, and by those of now."""
    capture = load_capture(DATA / "h200" / "cuda_tuned_4x8192x4096.json")
    now = build_report(with_ceilings(capture, ceilings), roof="measured").blocks.roofline
    assert (now.dram_util_pct, now.warnings) == (pytest.approx(98.6, abs=0.1), ())
    before = load_ceilings(FILE.with_name("h200-before.json"))
    blocks = build_report(with_ceilings(capture, before), roof="measured").blocks
    assert blocks.roofline.dram_bandwidth_gbs == pytest.approx(4403, abs=1)
    assert blocks.roofline.dram_util_pct == pytest.approx(100.7, abs=0.1)
    assert [warning.code for warning in blocks.roofline.warnings] == ["above_measured_roof"]
    assert 0.9 < (blocks.sol.task_score or 0.0) < 1
