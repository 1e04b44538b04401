"""Occupancy: NVIDIA's rules, held against vectors and recorded launches, and the step that fits more warps."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache

import pytest
import recorded_ncu
from hypothesis import given, settings
from hypothesis import strategies as st
from ncu_data import DATA

from kprof.board import SmFacts
from kprof.gpuspec import resolve_gpu
from kprof.occupancy import BlockNeeds, Limits, Step, barriers_of, limits, next_step, occupancy_pct

BOARDS = {
    "7.0": "v100-sxm2-16gb",
    "7.5": "t4-16gb",
    "8.0": "a100-sxm-80gb",
    "8.6": "a10g-24gb",
    "8.9": "l4-24gb",
    "9.0": "h200-sxm-141gb",
    "10.0": "b200-180gb",
    "12.0": "rtx-5090-32gb",
}


@cache
def sm_of(capability: str) -> SmFacts:
    spec = resolve_gpu(BOARDS[capability])
    assert spec.compute_capability == capability
    return spec.sm


def block(threads: int, registers: int, shared_bytes: int = 0, barriers: int = 0) -> BlockNeeds:
    return BlockNeeds(threads=threads, registers_per_thread=registers, shared_bytes=shared_bytes, barriers=barriers)


@pytest.mark.parametrize(
    ("capability", "needs", "blocks", "pct", "limiters"),
    [
        ("9.0", block(256, 64), 4, 50.0, "registers"),
        ("9.0", block(128, 168), 3, 18.75, "registers"),
        ("9.0", block(384, 168, 204800), 1, 18.75, "registers+shared_memory"),
        ("9.0", block(1024, 33), 1, 50.0, "registers"),
        ("9.0", block(96, 32), 21, 98.4375, "registers+warps"),
        ("9.0", block(32, 16), 32, 50.0, "blocks"),
        ("8.0", block(256, 40, 49152), 3, 37.5, "shared_memory"),
        ("8.6", block(256, 32), 6, 100.0, "warps"),
        ("8.9", block(128, 32, 16384), 5, 500 / 12, "shared_memory"),
        ("12.0", block(256, 255), 1, 100 / 6, "registers"),
        ("7.5", block(256, 32), 4, 100.0, "warps"),
    ],
)
def test_vectors(capability: str, needs: BlockNeeds, blocks: int, pct: float, limiters: str) -> None:
    sm = sm_of(capability)
    found = limits(needs, sm)
    assert found.blocks_per_sm == blocks
    assert occupancy_pct(blocks, needs.threads, sm) == pytest.approx(pct, abs=1e-9)
    assert "+".join(found.limiters) == limiters


@cache
def raw_cells(report: str) -> dict[int, dict[str, str]]:
    """Every cell of a raw page: the number of barriers among them, which kprof itself has no use for."""
    with (DATA / f"{report}.raw.csv").open(newline="") as file:
        head, _units, *rows = csv.reader(file)
    return {int(row[0]): dict(zip(head, row, strict=True)) for row in rows}


@pytest.mark.parametrize(("report", "launch_id"), recorded_ncu.every_launch())
def test_every_limit_of_every_recorded_launch(report: str, launch_id: int) -> None:
    """Shared memory over the carveout of that launch; barriers never above the block slots."""
    metrics = raw_cells(report)[launch_id]
    launch = {
        name.removeprefix("launch__"): int(text.replace(",", ""))
        for name, text in metrics.items()
        if name.startswith("launch__") and text.replace(",", "").isdecimal()
    }
    sm = recorded_ncu.h200().sm
    needs = block(
        launch["block_size"],
        launch["registers_per_thread"],
        launch["shared_mem_per_block_static"] + launch["shared_mem_per_block_dynamic"],
        launch["barrier_count"],
    )
    found = limits(needs, sm, launch["shared_mem_config_size"])
    assert found == Limits(
        registers=launch["occupancy_limit_registers"],
        shared_memory=launch["occupancy_limit_shared_mem"],
        warps=launch["occupancy_limit_warps"],
        blocks=launch["occupancy_limit_blocks"],
        barriers=launch["occupancy_limit_barriers"],
    )
    measured = float(metrics["sm__maximum_warps_per_active_cycle_pct"])
    assert occupancy_pct(found.blocks_per_sm, needs.threads, sm) == pytest.approx(measured, abs=0.006)
    # The driver's choice of carveout never costs a block.
    assert limits(needs, sm).blocks_per_sm == found.blocks_per_sm
    of_barriers = barriers_of(found.barriers or 0, sm)
    assert limits(replace(needs, barriers=of_barriers), sm).barriers == found.barriers


@pytest.mark.parametrize(
    ("capability", "needs", "limiter"),
    [
        ("9.0", block(1025, 16), "warps"),
        ("9.0", block(1024, 65), "registers"),
        ("9.0", block(64, 16, 227 * 1024 + 1), "shared_memory"),
        ("7.5", block(64, 16, 64 * 1024 + 1), "shared_memory"),
    ],
)
def test_a_block_that_cannot_be_launched(capability: str, needs: BlockNeeds, limiter: str) -> None:
    found = limits(needs, sm_of(capability))
    assert found.blocks_per_sm == 0
    assert found.limiters == (limiter,)


def test_the_largest_block_that_can_be_launched() -> None:
    assert limits(block(1024, 64, 227 * 1024), sm_of("9.0")).blocks_per_sm == 1


def test_no_shared_memory_is_no_limit_where_the_driver_keeps_none() -> None:
    assert limits(block(256, 32), sm_of("7.0")).shared_memory is None
    assert limits(block(256, 32), sm_of("8.0")).shared_memory == 164


@pytest.mark.parametrize(
    ("capability", "needs", "text"),
    [
        ("9.0", block(256, 64), "16 fewer registers a thread: 5 blocks an SM, 50 -> 62 %"),
        ("9.0", block(1024, 33), "1 fewer register a thread: 2 blocks an SM, 50 -> 100 %"),
        ("12.0", block(768, 46), "6 fewer registers a thread: 2 blocks an SM, 50 -> 100 %"),
        ("8.0", block(256, 40, 49152), "8192 fewer bytes of shared memory a block: 4 blocks an SM, 38 -> 50 %"),
        (
            "9.0",
            block(384, 168, 204800),
            "88 fewer registers a thread and 89088 fewer bytes of shared memory a block: 2 blocks an SM, 19 -> 38 %",
        ),
        ("9.0", block(32, 16), "64-thread blocks: 32 blocks an SM, 50 -> 100 %"),
        ("8.6", block(1024, 32), "768-thread blocks: 2 blocks an SM, 67 -> 100 %"),
        ("9.0", block(96, 32), "128-thread blocks: 16 blocks an SM, 98 -> 100 %"),
        (
            "9.0",
            block(32, 64),
            "64-thread blocks and 8 fewer registers a thread: 18 blocks an SM, 50 -> 56 %",
        ),
        ("9.0", block(64, 16, 0, 16), "at most 12 named barriers a block: 5 blocks an SM, 12 -> 16 %"),
    ],
)
def test_the_next_step_in_words(capability: str, needs: BlockNeeds, text: str) -> None:
    step = next_step(needs, sm_of(capability))
    assert step is not None
    assert step.text == text


def test_a_carveout_that_was_set_too_small_comes_first() -> None:
    needs, sm = block(256, 64, 15 * 1024), sm_of("9.0")
    assert limits(needs, sm, 32 * 1024).limiters == ("shared_memory",)
    step = next_step(needs, sm, 32 * 1024)
    assert step is not None
    assert step.text == "a shared memory carveout of 64 KiB: 4 blocks an SM, 25 -> 50 %"
    assert limits(needs, sm, step.carveout_bytes).blocks_per_sm == step.blocks == 4


def test_a_full_sm_has_no_next_step() -> None:
    assert next_step(block(256, 32), sm_of("9.0")) is None


NEEDS = st.builds(
    BlockNeeds,
    threads=st.integers(1, 1024),
    registers_per_thread=st.integers(1, 255),
    shared_bytes=st.one_of(st.just(0), st.integers(1, 227 * 1024)),
    barriers=st.integers(0, 16),
)


def reach(needs: BlockNeeds, sm: SmFacts) -> float:
    return occupancy_pct(limits(needs, sm).blocks_per_sm, needs.threads, sm)


@settings(max_examples=400, deadline=None)
@given(NEEDS, st.sampled_from(sorted(BOARDS)))
def test_a_step_keeps_its_promise_and_is_no_larger_than_needed(needs: BlockNeeds, capability: str) -> None:
    sm = sm_of(capability)
    step = next_step(needs, sm)
    if step is None:
        assert all(reach(replace(needs, threads=32 * warps), sm) <= reach(needs, sm) for warps in range(1, 33))
        return
    assert step.old_pct == reach(needs, sm)
    assert step.new_pct == reach(step.new, sm) > step.old_pct
    assert step.blocks == limits(step.new, sm).blocks_per_sm
    for less_change in _milder(step, sm):
        assert reach(less_change, sm) <= step.old_pct


def _milder(step: Step, sm: SmFacts) -> list[BlockNeeds]:
    """The same step with one of its cuts made smaller by the least that makes a difference."""
    old, new = step.old, step.new
    found = []
    if new.registers_per_thread < old.registers_per_thread:
        unit = sm.register_granularity // sm.warp_size
        found.append(replace(new, registers_per_thread=min(old.registers_per_thread, new.registers_per_thread + unit)))
    if new.shared_bytes < old.shared_bytes:
        found.append(replace(new, shared_bytes=new.shared_bytes + 1))
    if new.barriers < old.barriers:
        found.append(replace(new, barriers=new.barriers + 1))
    return found


@settings(max_examples=200, deadline=None)
@given(NEEDS, st.sampled_from(sorted(BOARDS)))
def test_asking_for_less_never_fits_fewer_blocks(needs: BlockNeeds, capability: str) -> None:
    sm = sm_of(capability)
    less = block(needs.threads, max(1, needs.registers_per_thread - 9), needs.shared_bytes // 2, needs.barriers // 2)
    assert limits(less, sm).blocks_per_sm >= limits(needs, sm).blocks_per_sm
