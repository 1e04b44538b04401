"""The block occupancy, on recorded launches and on what reports may lack."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
import recorded_ncu
from recorded_ncu import changed, h200, probe, profile, quantities_of

from kprof.blocks.occupancy import OccupancyBlock, occupancy_block
from kprof.counter_profile import Finding
from kprof.counters.combine import combine
from kprof.counters.quantities import Quantities
from kprof.gpuspec import resolve_gpu

LIMITS = ("blocks_by_registers", "blocks_by_smem", "blocks_by_warps", "blocks_by_blocks", "blocks_by_barriers")


def block_of(found: Quantities, **changes: Any) -> OccupancyBlock:
    return occupancy_block(profile(changed(found, **changes), h200()))


def without_limits(found: Quantities) -> Quantities:
    return changed(found, theoretical_occupancy_pct=None, waves_per_sm=None, **dict.fromkeys(LIMITS))


@pytest.mark.parametrize(("report", "launch_id"), recorded_ncu.every_launch())
def test_every_recorded_launch(report: str, launch_id: int) -> None:
    """Counters and rules agree, and with the counters taken away the rules say the same."""
    found = quantities_of(report, launch_id)
    block = block_of(found)
    assert block.status == "ok"
    assert block.warnings == ()
    assert block.theoretical_pct == found.theoretical_occupancy_pct
    assert block.achieved_pct == found.occupancy_pct
    assert block.smem_dynamic_bytes == found.smem_dynamic_bytes
    assert block.waves_per_sm == pytest.approx(found.waves_per_sm, abs=0.006)
    assert block.reasons == ({} if block.next_step else {"next_step": "already_full"})
    ruled = occupancy_block(profile(without_limits(found), h200()))
    assert ruled.theoretical_pct == pytest.approx(block.theoretical_pct, abs=0.006)
    assert ruled.next_step == block.next_step
    if found.blocks_by_barriers == 32:  # Otherwise named barriers are known from their limit alone.
        assert (ruled.limiter, ruled.waves_per_sm) == (block.limiter, block.waves_per_sm)


@pytest.mark.parametrize(
    ("name", "nth", "limiter", "theoretical", "achieved"),
    [
        ("pointer_chase", 0, "blocks", 50.0, 1.56),
        ("low_occ_copy", 0, "shared_memory", 3.12, 3.12),
        ("barrier_heavy", 0, "warps", 100.0, 99.79),
        ("logsumexp_kernel", 1, "registers+warps", 100.0, 84.04),
    ],
)
def test_probes(name: str, nth: int, limiter: str, theoretical: float, achieved: float) -> None:
    block = block_of(probe(name, nth))
    assert (block.limiter, block.theoretical_pct, block.achieved_pct) == (limiter, theoretical, achieved)


def test_the_driver_s_share_of_shared_memory_is_not_the_kernel_s() -> None:
    found = probe("logsumexp_kernel")
    assert found.smem_driver_bytes == 1024
    block = block_of(found)
    assert (block.smem_static_bytes, block.smem_dynamic_bytes) == (0, 0)
    assert (block.registers_per_thread, block.block_size, block.grid_size) == (32, 256, 2)
    assert all(isinstance(value, int) for value in (block.smem_static_bytes, block.block_size, block.grid_size))


def test_a_grid_under_one_wave_is_told_first() -> None:
    found = probe("logsumexp_kernel")
    assert found.waves_per_sm == 0.0  # As the CSV rounds it.
    block = block_of(found)
    assert block.waves_per_sm == pytest.approx(2 / 1056)
    assert block.next_step == "2 blocks on 132 SMs, where 1056 fit at once: more blocks first"
    assert block_of(probe("pointer_chase")).next_step == (
        "132 blocks on 132 SMs, where 4224 fit at once: more blocks first; "
        "then 64-thread blocks: 32 blocks an SM, 50 -> 100 %"
    )
    assert block_of(found, grid_size=1.0).next_step == "1 block on 132 SMs, where 1056 fit at once: more blocks first"


def test_exactly_one_wave_is_enough() -> None:
    block = block_of(probe("low_occ_copy"))
    assert block.waves_per_sm == 1.0
    assert block.next_step == "89088 fewer bytes of shared memory a block: 2 blocks an SM, 3.1 -> 6.2 %"


def test_waves_come_from_the_counter_where_limits_are_not_known() -> None:
    found = without_limits(probe("logsumexp_kernel", 1))
    block = occupancy_block(profile(changed(found, waves_per_sm=124.12)))
    assert block.waves_per_sm == 124.12
    assert (block.theoretical_pct, block.limiter) == (None, None)
    assert block.reasons == {
        "theoretical_pct": "counter_not_collected",
        "limiter": "counter_not_collected",
        "next_step": "needs_board",
    }


def test_without_the_board_the_counters_still_tell_most() -> None:
    block = occupancy_block(profile(probe("pointer_chase")))
    # 32 KiB of carveout fit 32 blocks too, but a kernel without shared memory is not limited by it.
    assert (block.limiter, block.theoretical_pct) == ("blocks", 50.0)
    assert block.next_step == "132 blocks on 132 SMs, where 4224 fit at once: more blocks first"
    full_grid = occupancy_block(profile(probe("low_occ_copy")))
    assert (full_grid.limiter, full_grid.next_step) == ("shared_memory", None)
    assert full_grid.reasons == {"next_step": "needs_board"}


def test_older_reports_have_no_barrier_limit() -> None:
    found = probe("low_occ_copy")
    assert block_of(found, blocks_by_barriers=None) == block_of(found)


def test_barriers_that_limit() -> None:
    found = changed(
        probe("low_occ_copy"), smem_dynamic_bytes=0.0, blocks_by_smem=228.0, blocks_by_barriers=9.0,
        smem_config_bytes=233472.0, theoretical_occupancy_pct=28.12, grid_size=132.0 * 9,
    )  # fmt: skip
    block = block_of(found)
    assert (block.limiter, block.waves_per_sm) == ("barriers", 1.0)
    assert block.next_step == "at most 6 named barriers a block: 10 blocks an SM, 28 -> 31 %"


def test_a_carveout_that_was_set_too_small_limits() -> None:
    found = changed(
        probe("dram_copy"), smem_static_bytes=15.0 * 1024, smem_config_bytes=32768.0, blocks_by_smem=2.0,
        theoretical_occupancy_pct=25.0,
    )  # fmt: skip
    block = block_of(found)
    assert (block.limiter, block.warnings) == ("shared_memory", ())
    assert block.next_step == "a shared memory carveout of 64 KiB: 4 blocks an SM, 25 -> 50 %"


def test_counters_and_rules_that_disagree() -> None:
    found = changed(quantities_of("library-kernels", 0), theoretical_occupancy_pct=9.38)
    block = block_of(found)
    assert (block.status, block.theoretical_pct, block.next_step) == ("ok", 9.38, None)
    assert block.reasons == {"next_step": "theoretical_disagrees"}
    (warning,) = block.warnings
    assert warning.code == "theoretical_disagrees"
    assert "9.38 %" in warning.message
    assert "18.75 %" in warning.message
    assert "clusters of 2 blocks" in warning.message
    # Rounding is no disagreement.
    assert block_of(quantities_of("library-kernels", 0), theoretical_occupancy_pct=18.3).warnings == ()


@pytest.mark.parametrize("lacking", ["registers_per_thread", "block_size", "smem_static_bytes", "smem_dynamic_bytes"])
def test_what_the_rules_lack_is_named(lacking: str) -> None:
    found = probe("low_occ_copy")
    found = msgspec.structs.replace(changed(found, **{lacking: None}), missing={**found.missing, lacking: "blank"})
    block = occupancy_block(profile(found, h200()))
    assert block.reasons == {lacking: "blank", "next_step": "blank"}


def test_a_finding_makes_it_suspect_and_keeps_the_value() -> None:
    over = Finding("occupancy_over_theoretical", "achieved 104 % of theoretical 100 %", ("occupancy_pct",))
    also = Finding("odd_grid", "grid of 0.5 blocks", ("grid_size",))
    elsewhere = Finding("dram_over_peak", "107 % of the DRAM peak", ("dram_bytes",))
    found = changed(probe("barrier_heavy"), occupancy_pct=104.0)
    block = occupancy_block(profile(found, h200(), elsewhere, over, also))
    assert (block.status, block.achieved_pct, block.reason) == ("suspect", 104.0, over.reason)
    assert block.warnings == (also.reason,)
    assert occupancy_block(profile(found, h200(), elsewhere)).status == "ok"


def test_nothing_collected() -> None:
    block = occupancy_block(profile(Quantities(), h200()))
    assert block.status == "unavailable"
    assert block.reason is not None
    assert block.reason.code == "counters_not_available"
    assert set(block.reasons.values()) == {"counters_not_available"}
    assert len(block.reasons) == 10


def test_attributes_of_several_launches_are_those_of_the_longest() -> None:
    tiny, large = probe("logsumexp_kernel", 0), probe("low_occ_copy")
    block = occupancy_block(profile(combine([tiny, large]), h200()))
    assert (block.grid_size, block.limiter) == (132, "shared_memory")
    assert tiny.occupancy_pct is not None
    assert large.occupancy_pct is not None
    assert block.achieved_pct is not None
    assert large.occupancy_pct < block.achieved_pct < 3.2  # By active cycles: the tiny one hardly counts.


def test_another_board_s_sm_decides() -> None:
    """A launch without counters of its limits, on an A10G: 1536 threads an SM."""
    a10g = resolve_gpu("a10g-24gb")
    found = changed(without_limits(probe("barrier_heavy")), sm_count=None, smem_config_bytes=None)
    block = occupancy_block(profile(found, a10g))
    assert block.theoretical_pct == pytest.approx(200 / 3)
    assert block.waves_per_sm == pytest.approx(264 / a10g.sm_count)
    assert block.next_step == "768-thread blocks: 2 blocks an SM, 67 -> 100 %"
    assert occupancy_block(replace(profile(found, a10g), spec=None)).waves_per_sm is None
