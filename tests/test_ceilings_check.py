"""Measured roofs above what a board can do are no roofs."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import h200_tiny
from ceilings import ceiling, cpu_ceilings, h200_ceilings

from kprof.ceilings_check import believable, most_possible
from kprof.ceilings_evidence import Name, Unit, load_ceilings
from kprof.gpuspec import resolve_gpu
from kprof.report import build_report

H200 = resolve_gpu("h200-sxm-141gb")
BROKEN = Path(__file__).parent / "data" / "ceilings" / "h200_with_broken_l1.json"


def test_the_most_that_a_board_can_do() -> None:
    found = most_possible(H200)
    assert found["dram_read"] == 4916.7e9  # At the pins: the spec says 4800.
    assert found["l1"] == 132 * 128 * 1980e6
    assert found["bf16"] == 132 * 4096 * 1980e6  # The spec's 989.4e12 are at 1830 MHz.
    assert found["fp32"] == pytest.approx(66.9e12, rel=1e-3)
    assert "l2" not in found  # That of an H200 was measured by others.


@pytest.mark.parametrize(
    ("name", "unit", "rate", "kept"),
    [
        ("dram_read", "byte/s", 4917e9 * 1.02, True),
        ("dram_read", "byte/s", 4917e9 * 1.04, False),
        ("l1", "byte/s", 114e12, False),
        ("bf16", "FLOP/s", 1060e12, True),
        ("fp32", "FLOP/s", 120e12, False),
        ("l2", "byte/s", 12e12, True),
    ],
)
def test_what_lies_above_is_absent_with_its_reason(name: Name, unit: Unit, rate: float, kept: bool) -> None:
    found = believable(h200_ceilings(measured=(ceiling(name, rate, unit), ceiling("fp16", 1e14, "FLOP/s"))), H200)
    assert (found.get(name) is not None) is kept
    assert found.get("fp16") is not None
    assert {key: why.code for key, why in found.absent.items()} == ({} if kept else {name: "above_peak"})


def test_without_a_spec_and_on_a_cpu_nothing_is_known_against_them() -> None:
    assert believable(h200_ceilings(measured=(ceiling("l1", 1e15),)), None).get("l1") is not None
    assert believable(cpu_ceilings(), H200) == cpu_ceilings()


def test_those_of_a_broken_kernel_reach_no_report() -> None:
    """As an H200 measured them once: ptxas had taken four loads of L1 and shared memory for one."""
    found = load_ceilings(BROKEN)
    assert (found.get("l1") or ceiling("l1", 0.0)).median > 3 * 33.4e12
    report = build_report(h200_tiny(ceilings=found))
    assert report.ceilings is not None
    assert {"l1", "shared"}.isdisjoint(one.name for one in report.ceilings.measured)
    assert report.ceilings.absent["l1"].code == report.ceilings.absent["shared"].code == "above_peak"
