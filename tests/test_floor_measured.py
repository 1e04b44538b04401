"""The floor on measured roofs: of a processor, which has no others, and of a board where they are asked for."""

from __future__ import annotations

import pytest
from ceilings import ceiling, cpu_ceilings, h200_ceilings

from kprof.evidence import Reason
from kprof.floor import NO_ROOF, task_floor
from kprof.floor_evidence import FloorEvidence
from kprof.gpuspec import resolve_gpu

H200 = resolve_gpu("h200-sxm-141gb")
L2 = 60 * 2**20


def task(read: int, written: int, **flop: int) -> FloorEvidence:
    return FloorEvidence(input_bytes=read, parameter_bytes=0, output_bytes=written, flop=flop)


@pytest.mark.parametrize(
    ("read", "written", "limit", "us"),
    [
        (2**20, 0, "cache", 2**20 / 151.5e9 * 1e6),
        (2**24, 2**20, "cache", (2**24 + 2**20) / 101e9 * 1e6),
        (2**29, 2**29, "dram", 2**30 / 50.5e9 * 1e6),
    ],
)
def test_bytes_go_at_the_bandwidth_of_their_footprint(read: int, written: int, limit: str, us: float) -> None:
    found = task_floor(task(read, written), None, cache="warm", ceilings=cpu_ceilings())
    assert (found.us, found.limit, found.kind) == (pytest.approx(us), limit, "algorithmic")
    assert found.measured
    assert found.reasons == {"dram_bytes": "no_cuda_device"}


def test_flop_go_at_the_measured_peak_of_their_type() -> None:
    found = task_floor(task(2**20, 0, fp32=10**9), None, cache="warm", ceilings=cpu_ceilings())
    assert (found.us, found.limit, found.flop_type) == (pytest.approx(1e9 / 101e9 * 1e6), "flop", "fp32")
    assert set(found.us_by_limit) == {"cache", "flop"}


def test_a_type_that_was_not_measured_is_left_out_and_told() -> None:
    found = task_floor(task(2**20, 0, fp64=10**9), None, cache="warm", ceilings=cpu_ceilings())
    assert (found.kind, found.limit, found.flop_type) == ("bytes_only", "cache", None)
    assert [note.code for note in found.notes] == ["flop_not_priced"]


def test_roofs_of_a_busy_machine_make_an_upper_estimate() -> None:
    busy = Reason(code="ceilings_contended", message="other work took the processors")
    found = task_floor(task(2**20, 0), None, cache="warm", ceilings=cpu_ceilings(warnings=(busy,)))
    assert found.kind == "upper_estimate"
    assert found.notes[0] == busy


def test_a_processor_without_roofs_has_no_time_and_says_how_to_get_one() -> None:
    for ceilings in (None, cpu_ceilings(measured=(ceiling("call", 3.0, "us"),))):
        found = task_floor(task(2**20, 0), None, cache="warm", ceilings=ceilings)
        assert (found.us, found.reasons["us"]) == (None, "ceilings_not_measured")
    assert NO_ROOF.hint == "Measure them: kprof doctor --ceilings."


def test_roofs_of_a_board_do_not_serve_a_processor() -> None:
    assert task_floor(task(2**20, 0), None, cache="warm", ceilings=h200_ceilings()).us is None


def test_nothing_to_do_takes_no_time() -> None:
    assert task_floor(task(0, 0), None, cache="warm", ceilings=cpu_ceilings()).reasons["us"] == "nothing_to_do"


def test_dram_of_a_board_goes_at_the_bandwidth_of_the_tasks_mix() -> None:
    read, written = 2**30, 2**30
    found = task_floor(task(read, written), H200, cache="cold", l2_bytes=L2, ceilings=h200_ceilings())
    moved = read + written - L2
    bandwidth = h200_ceilings().dram_bandwidth(read / moved, best=True)
    assert bandwidth is not None
    assert 4040e9 < bandwidth < 4150e9  # Between a copy and a triad: what stays in L2 makes the share of reads larger.
    assert (found.us, found.limit, found.measured) == (pytest.approx(moved / bandwidth * 1e6), "dram", True)


def test_products_on_a_board_go_at_the_measured_peak_else_at_the_specs() -> None:
    flop = 2 * 8192**3
    measured = task_floor(task(2**20, 0, bf16=flop), H200, cache="cold", l2_bytes=L2, ceilings=h200_ceilings())
    assert measured.us == pytest.approx(flop / 808e12 * 1e6)
    stated = task_floor(task(2**20, 0, fp16=flop), H200, cache="cold", l2_bytes=L2, ceilings=h200_ceilings())
    assert stated.us == pytest.approx(flop / 989.4e12 * 1e6)
