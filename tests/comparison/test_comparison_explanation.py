"""Why the time changed, in sentences that are arithmetic on both reports."""

from __future__ import annotations

from typing import Any

import pytest
from compared_reports import by_hand, changed, compared, fused, naive, scaled

from kprof.report import Report


def told(a: Report, b: Report) -> dict[str, str]:
    return {one.code: one.text for one in compared(a, b).explanations}


def moved(report: Report, **factors: float) -> Any:
    """The report with numbers of its roofline multiplied."""
    roofline = report.blocks.roofline
    return changed(
        report, **{f"blocks__roofline__{name}": getattr(roofline, name) * by for name, by in factors.items()}
    )


def test_fewer_bytes_at_the_same_rate() -> None:
    b = moved(scaled(fused(), 0.52), profiled_us=0.52, dram_bytes=0.52)
    assert told(fused(), b)["bytes"] == "DRAM bytes -48 %, same GB/s: the time goes with the bytes"


def test_the_same_bytes_at_another_rate() -> None:
    assert told(naive(), fused())["bandwidth"] == "same DRAM bytes, GB/s +39 % (2893 to 4021)"


def test_both() -> None:
    b = moved(fused(), profiled_us=0.25, dram_bytes=0.5, dram_bandwidth_gbs=2.0)
    text = told(fused(), b)["bytes_and_bandwidth"]
    assert text.startswith("DRAM bytes -50 %, GB/s +100 % (")
    assert text.endswith("together, time under ncu -75 %")


def test_instructions_are_issue_slots_times_cycles() -> None:
    # 81.70 % of 229.8 us at 1927 MHz against 74.16 % of 165.0 us at 1899 MHz.
    expected = 100 * (74.1583 * 165.024 * 1899.02 / (81.698 * 229.824 * 1926.79) - 1)
    assert told(naive(), fused())["instructions"].startswith(f"instructions issued {expected:+.3g} %")


def test_the_bound_and_the_largest_moves_of_the_stalls() -> None:
    found = told(naive(), fused())
    assert found["bound"] == "the bound was compute (issue), and is memory (dram)"
    assert "long_scoreboard: 33.8 to 62.5 %" in found["waits_more"]
    assert found["waits_less"].startswith("warps wait less for")
    back = told(fused(), naive())
    assert "long_scoreboard: 62.5 to 33.8 %" in back["waits_less"]


@pytest.mark.parametrize(
    ("values", "code", "text"),
    [
        ({"blocks__launches__kernel_launches": 3}, "launches", "kernels launched: 1 to 3 (+200 %)"),
        ({"blocks__occupancy__registers_per_thread": 64}, "registers", "registers a thread: 32 to 64 (+100 %)"),
        ({"blocks__caches__local_bytes": 4096.0}, "local_memory", "local memory traffic: 0 bytes to 4096 bytes"),
        ({"blocks__caches__l2_hit_pct": 60.0}, "l2_hits", "L2 hits: 21.02 % to 60 %"),
        ({"blocks__roofline__tensor_tflops": {"bf16": 50.0}}, "tensor", "the tensor cores do bf16 now"),
    ],
)
def test_each_fact_that_moved(values: dict[str, Any], code: str, text: str) -> None:
    assert told(fused(), changed(fused(), **values)) == {code: text}


def test_the_reference_is_named_when_it_moved_itself() -> None:
    timing = fused().blocks.timing
    samples = timing.samples_us["device"]
    slower = changed(samples, ref=tuple(one * 1.1 for one in samples.ref or ()))
    b = changed(
        fused(),
        blocks__timing__ref_us=(timing.ref_us or 0) * 1.1,
        blocks__timing__samples_us={**timing.samples_us, "device": slower},
    )
    assert told(fused(), b) == {"reference": "the reference's own time +10 %: the speedup over it changed for that too"}


def test_without_counters_it_says_that_it_does_not_know() -> None:
    assert told(by_hand(), by_hand())["no_counters"].startswith("a has no counters (counters_not_collected)")
    assert "b has no counters" in told(naive(), changed(by_hand()))["no_counters"]


def test_nothing_moved() -> None:
    assert list(told(naive(), naive())) == ["nothing_changed"]
