"""Rates that no board reaches, on boards that nobody knows: doubted, and no evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from recorded_ncu import changed, every_launch, h200, probe, profile, quantities_of

from kprof.any_board import (
    CACHE_BYTES_PER_S,
    CODE,
    DRAM_BYTES_PER_S,
    TENSOR_FLOP_PER_S,
    VECTOR_FLOP_PER_S,
)
from kprof.audit import audit
from kprof.blocks.caches import caches_block
from kprof.blocks.roofline import roofline_block
from kprof.counters.quantities import Quantities
from kprof.gpuspec import load_all_specs

COPY, GEMM, FMA = probe("dram_copy"), quantities_of("library-kernels", 0), probe("fma_fp32")
DRAM = ("dram_bytes", "dram_read_bytes", "dram_write_bytes")
HUGE = 1e21
"""Bytes or FLOP: over a millisecond 1e9 TB/s."""


def told(found: Quantities, **changes: Any) -> dict[str, tuple[str, ...]]:
    return {one.code: one.quantities for one in audit(changed(found, **changes), None)}


def test_every_known_board_is_far_within_the_bounds() -> None:
    for spec in load_all_specs():
        assert spec.memory.bandwidth_gbs * 1e9 * 4 < DRAM_BYTES_PER_S
        assert spec.sm_count * spec.sm.l1_bytes_per_clk * spec.max_sm_clock_mhz * 1e6 * 4 < CACHE_BYTES_PER_S
        peaks = {name: peak for name in spec.peaks.__struct_fields__ if (peak := getattr(spec.peaks, name)) is not None}
        for name, peak in peaks.items():
            most = VECTOR_FLOP_PER_S if name in ("fp32", "fp16_vector", "fp64") else TENSOR_FLOP_PER_S
            assert peak.flop_per_s * 4 < most, (spec.name, name)


@pytest.mark.parametrize(("report", "launch_id"), every_launch())
def test_nothing_recorded_is_beyond_them(report: str, launch_id: int) -> None:
    assert CODE not in told(quantities_of(report, launch_id), dram_peak_bytes_per_s=None)


@pytest.mark.parametrize(
    ("found", "changes", "names"),
    [
        (COPY, {"dram_bytes": HUGE, "dram_peak_bytes_per_s": None}, DRAM),
        (COPY, {"l2_bytes": HUGE}, ("l2_bytes",)),
        (COPY, {"l1_bytes": HUGE}, ("l1_bytes",)),
        (COPY, {"dram_peak_bytes_per_s": HUGE}, ("dram_peak_bytes_per_s",)),
        (GEMM, {"tensor_flop": {"bf16": HUGE}}, ("tensor_flop",)),
        (FMA, {"fp64_fma": HUGE}, ("fp64_add", "fp64_mul", "fp64_fma")),
    ],
)  # fmt: skip
def test_a_rate_that_no_board_reaches_is_found(found: Quantities, changes: dict[str, Any], names: object) -> None:
    assert told(found, **changes)[CODE] == names


def test_what_the_report_or_the_board_bounds_closer_is_told_by_that_alone() -> None:
    assert set(told(COPY, dram_bytes=HUGE)) == {"dram_over_peak"}
    over = audit(changed(COPY, dram_bytes=HUGE), h200())
    assert [one.code for one in over] == ["dram_over_peak"]


def test_the_block_is_suspect_and_says_the_bound() -> None:
    found = changed(COPY, dram_bytes=HUGE, dram_peak_bytes_per_s=None)
    seen = replace(profile(found, None), findings=audit(found, None))
    block = roofline_block(seen)
    assert block.status == "suspect"
    assert block.reason is not None
    assert block.reason.message.endswith("TB/s at DRAM: no board does 100 TB/s")
    assert seen.trusted("dram_bytes") is None
    assert caches_block(seen).status == "ok"
