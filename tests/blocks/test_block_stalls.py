"""The block stalls: shares of recorded kernels, both methods, and what cannot be said."""

from __future__ import annotations

from typing import Any

import pytest
import recorded_ncu
from recorded_ncu import changed, probe, profile, quantities_of

from kprof.blocks.stalls import StallsBlock, stalls_block
from kprof.counter_profile import Finding
from kprof.counters.combine import combine
from kprof.counters.quantities import Quantities


def block_of(found: Quantities, *findings: Finding, **changes: Any) -> StallsBlock:
    return stalls_block(profile(changed(found, **changes), None, *findings))


def codes(block: StallsBlock) -> list[str]:
    return [warning.code for warning in block.warnings]


def shares(block: StallsBlock) -> dict[str, float]:
    assert block.all is not None
    return {one.reason: one.share_pct for one in block.all if one.share_pct is not None}


def sampled(found: Quantities, count: float, **changes: Any) -> Quantities:
    """The launch with ``count`` samples in the proportions of its own, and no counters of warp states."""
    own = found.stall_samples
    scaled = {name: value * count / sum(own.values()) for name, value in own.items()}
    return changed(found, stall_cycles={}, stall_samples=scaled, **changes)


@pytest.mark.parametrize(
    ("name", "reason", "least", "most"),
    [
        ("pointer_chase", "long_scoreboard", 98.0, 99.0),
        ("barrier_heavy", "barrier", 71.0, 71.2),
        ("mma_fp16", "math_pipe_throttle", 73.0, 73.5),
        ("xu_exp", "mio_throttle", 77.0, 77.5),
        ("fma_fp32", "math_pipe_throttle", 3.2, 3.4),
    ],
)
def test_the_largest_stall_of_a_probe(name: str, reason: str, least: float, most: float) -> None:
    block = block_of(probe(name))
    assert block.top is not None
    assert block.top[0].reason == reason
    share, cycles = block.top[0].share_pct, block.top[0].cycles_per_instruction
    assert share is not None
    assert least < share < most
    assert block.warp_cycles_per_instruction is not None
    assert cycles == pytest.approx(share / 100 * block.warp_cycles_per_instruction)


def test_fma_fp32_mostly_waits_for_its_turn() -> None:
    """A share is of all states; the two that are no stalls stand in ``all``, not in ``top``."""
    block = block_of(probe("fma_fp32"))
    assert block.all is not None
    assert block.top is not None
    assert [one.reason for one in block.all[:2]] == ["not_selected", "selected"]
    assert shares(block)["not_selected"] + shares(block)["selected"] == pytest.approx(94, abs=1)
    assert not {"selected", "not_selected"} & {one.reason for one in block.top}
    assert (len(block.top), len(block.all)) == (5, 19)


@pytest.mark.parametrize(("report", "launch_id"), recorded_ncu.every_launch())
def test_every_recorded_launch(report: str, launch_id: int) -> None:
    """From 10 us up the states add up to the warp cycles of an instruction; shorter ones may be off, and say so."""
    found = quantities_of(report, launch_id)
    block = block_of(found)
    assert block.method == "counters"
    assert block.reasons == {}
    values = list(shares(block).values())
    assert values == sorted(values, reverse=True)
    assert found.duration_ns is not None
    if found.duration_ns >= 10_000:
        assert sum(values) == pytest.approx(100, abs=3)
        assert block.warnings == ()
    else:
        off = abs(sum(values) - 100) > 5
        assert codes(block) == (["short_kernel_multi_pass"] if off else [])


def test_the_sum_of_a_long_kernel_must_be_right() -> None:
    found = probe("barrier_heavy")
    assert found.warp_cycles_per_instruction is not None
    block = block_of(found, warp_cycles_per_instruction=found.warp_cycles_per_instruction * 1.2)
    assert codes(block) == ["stall_sum_mismatch"]
    assert "0.833" in block.warnings[0].message
    assert codes(block_of(found, warp_cycles_per_instruction=found.warp_cycles_per_instruction * 1.04)) == []


def test_a_finding_on_the_sum_says_it_once() -> None:
    finding = Finding("stall_sum_mismatch", "states make 0.83 of the warp cycles", ("stall_cycles",))
    found = probe("barrier_heavy")
    block = block_of(found, finding, warp_cycles_per_instruction=42.0)
    assert (block.status, block.reason, block.warnings) == ("suspect", finding.reason, ())


@pytest.mark.parametrize(
    ("name", "apart"),
    [
        ("pointer_chase", 0.3),
        ("dram_copy", 0.3),
        ("barrier_heavy", 0.5),
        ("low_occ_copy", 0.3),
        ("mma_fp16", 6),
        ("xu_exp", 7),
        ("smem_conflict", 10),  # Samples split the shared memory queue and its answers otherwise than counters do.
    ],
)
def test_samples_tell_much_the_same_as_counters(name: str, apart: float) -> None:
    found = probe(name)
    block, counted = block_of(found, stall_cycles={}), block_of(found)
    samples = sum(found.stall_samples.values())
    assert samples > 4000
    assert block.method == f"samples ({samples:.0f})"
    assert sum(shares(block).values()) == pytest.approx(100, abs=1e-9)
    for state, share in shares(counted).items():
        assert shares(block).get(state, 0.0) == pytest.approx(share, abs=apart)
    assert block.top is not None
    assert counted.top is not None
    assert block.top[0].reason == counted.top[0].reason
    share, cycles = block.top[0].share_pct, block.top[0].cycles_per_instruction
    assert share is not None
    assert block.warp_cycles_per_instruction is not None
    assert cycles == pytest.approx(share / 100 * block.warp_cycles_per_instruction)


def test_too_few_samples() -> None:
    block = block_of(probe("logsumexp_kernel"), stall_cycles={})
    assert (block.status, block.method, block.top, block.all) == ("ok", "samples (2)", None, None)
    assert block.reasons == {"top": "too_few_samples", "all": "too_few_samples"}
    assert codes(block) == ["too_few_samples"]
    assert "2 samples" in block.warnings[0].message
    assert "200" in block.warnings[0].message
    found = probe("dram_copy")
    assert stalls_block(profile(sampled(found, 199))).all is None
    assert stalls_block(profile(sampled(found, 200))).method == "samples (200)"


def test_samples_without_warp_cycles_are_shares_alone() -> None:
    block = block_of(probe("dram_copy"), stall_cycles={}, warp_cycles_per_instruction=None)
    assert sum(shares(block).values()) == pytest.approx(100, abs=1e-9)
    assert block.reasons["warp_cycles_per_instruction"] == "counter_not_collected"
    assert block.reasons["top[0].cycles_per_instruction"] == "counter_not_collected"
    assert len(block.reasons) == 1 + 5 + 19


@pytest.mark.parametrize(
    ("duration_ns", "samples", "method"),
    [
        (9_999.0, 500.0, "samples (500)"),
        (9_999.0, 199.0, "counters"),
        (10_000.0, 500.0, "counters"),
        (None, 500.0, "counters"),
    ],
)
def test_which_method_when_both_are_there(duration_ns: float | None, samples: float, method: str) -> None:
    found = probe("dram_copy")
    few = sampled(found, samples, duration_ns=duration_ns)
    assert block_of(few, stall_cycles=found.stall_cycles).method == method


def test_many_short_launches_are_short() -> None:
    tiny = [quantities_of("library-kernels", launch_id) for launch_id in range(17, 27)]
    together = combine(tiny)
    assert together.duration_ns is not None
    assert together.duration_ns > 10_000
    block = block_of(together)
    assert codes(block) in ([], ["short_kernel_multi_pass"])
    assert codes(block_of(together, warp_cycles_per_instruction=100.0)) == ["short_kernel_multi_pass"]


def test_without_warp_cycles_the_sum_of_all_states_is_the_whole() -> None:
    block = block_of(probe("barrier_heavy"), warp_cycles_per_instruction=None)
    assert block.method == "counters, shares of the sum of all states"
    assert sum(shares(block).values()) == pytest.approx(100, abs=1e-9)
    assert shares(block)["barrier"] == pytest.approx(71.1, abs=0.1)
    assert block.reasons == {"warp_cycles_per_instruction": "counter_not_collected"}


def three_of(states: dict[str, float]) -> dict[str, float]:
    return {name: states[name] for name in ("long_scoreboard", "short_scoreboard", "mio_throttle")}


def test_three_states_are_no_whole() -> None:
    """Their shares need the warp cycles; over their own sum they would all be too large."""
    found = probe("dram_copy")
    with_whole = block_of(found, stall_cycles=three_of(found.stall_cycles))
    assert codes(with_whole) == ["states_incomplete"]
    assert shares(with_whole)["long_scoreboard"] == pytest.approx(98.5, abs=0.1)
    without = block_of(found, stall_cycles=three_of(found.stall_cycles), warp_cycles_per_instruction=None)
    assert shares(without) == {}
    assert without.all is not None
    assert without.all[0].cycles_per_instruction == pytest.approx(295.91, abs=0.01)
    assert without.reasons["all[0].share_pct"] == "states_incomplete"
    of_samples = block_of(found, stall_cycles={}, stall_samples=three_of(found.stall_samples))
    assert of_samples.reasons == {"top": "states_incomplete", "all": "states_incomplete"}


def test_states_of_no_instruction_have_no_shares() -> None:
    found = probe("dram_copy")
    zeros = dict.fromkeys(found.stall_cycles, 0.0)
    block = block_of(found, stall_cycles=zeros, warp_cycles_per_instruction=0.0)
    assert shares(block) == {}
    assert block.reasons["all[0].share_pct"] == "nothing_counted"


def test_only_the_warp_cycles() -> None:
    block = block_of(probe("dram_copy"), stall_cycles={}, stall_samples={})
    assert block.warp_cycles_per_instruction == 300.52
    assert block.reasons == dict.fromkeys(("top", "all", "method"), "counter_not_collected")


def test_nothing_collected() -> None:
    block = stalls_block(profile(Quantities()))
    assert block.status == "unavailable"
    assert block.reasons == dict.fromkeys(
        ("top", "all", "warp_cycles_per_instruction", "method"), "counters_not_available"
    )
