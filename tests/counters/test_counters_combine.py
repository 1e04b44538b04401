"""Several launches as one: sums over sums, never means of percentages."""

from __future__ import annotations

import pytest

from kprof.counters.combine import combine
from kprof.counters.quantities import Quantities

SHORT = Quantities(duration_ns=1000.0, dram_bytes=100.0, dram_busy_pct=80.0, registers_per_thread=16.0, launches=1)
LONG = Quantities(duration_ns=9000.0, dram_bytes=300.0, dram_busy_pct=20.0, registers_per_thread=64.0, launches=1)


def test_one_launch_is_itself() -> None:
    assert combine([SHORT]) is SHORT


def test_no_launch_is_an_error() -> None:
    with pytest.raises(ValueError, match="no launches"):
        combine([])


def test_extensive_quantities_add_up_and_percentages_weigh_by_time() -> None:
    both = combine([SHORT, LONG])
    assert both.launches == 2
    assert both.dram_bytes == 400.0
    assert both.dram_busy_pct == pytest.approx((80 * 1000 + 20 * 9000) / 10_000)


def test_attributes_are_those_of_the_longest() -> None:
    assert combine([SHORT, LONG]).registers_per_thread == 64.0


def test_a_sum_over_a_missing_counter_is_missing() -> None:
    lacking = Quantities(duration_ns=5.0, missing={"dram_bytes": "not_available"})
    both = combine([SHORT, lacking])
    assert both.dram_bytes is None
    assert both.missing["dram_bytes"] == "counter_missing_in_some_launches"
    neither = combine([lacking, lacking])
    assert neither.missing["dram_bytes"] == "not_available"


def test_occupancy_weighs_by_active_cycles() -> None:
    busy = Quantities(occupancy_pct=90.0, sm_cycles_active_avg=300.0)
    idle = Quantities(occupancy_pct=10.0, sm_cycles_active_avg=100.0)
    assert combine([busy, idle]).occupancy_pct == pytest.approx(70.0)


def test_warp_states_weigh_by_instructions_and_samples_add_up() -> None:
    one = Quantities(instructions=100.0, stall_cycles={"wait": 4.0}, stall_samples={"wait": 3.0})
    other = Quantities(instructions=300.0, stall_cycles={"barrier": 4.0}, stall_samples={"wait": 5.0})
    both = combine([one, other])
    assert both.stall_cycles == {"wait": pytest.approx(1.0), "barrier": pytest.approx(3.0)}
    assert both.stall_samples == {"wait": 8.0}
    assert combine([one, Quantities(instructions=5.0)]).stall_cycles == {}


def test_tensor_operations_need_every_launch() -> None:
    one = Quantities(tensor_flop={"bf16": 5.0})
    assert combine([one, Quantities()]).tensor_flop == {}
    assert combine([one, Quantities(tensor_pct=0.0)]).tensor_flop == {"bf16": 5.0}
    assert combine([one, Quantities(tensor_flop={"bf16": 0.0, "fp8": 1.0})]).tensor_flop == {"bf16": 5.0, "fp8": 1.0}
