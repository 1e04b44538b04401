"""The block launches: kernels, copies and fills apart; overlap counted once; nothing seen is not zero."""

from __future__ import annotations

from typing import Any

import captures
import msgspec
import pytest
from captures import h200_tiny
from made_evidence import kernel_launch

from kprof.blocks.launches import LaunchesBlock, launches_block
from kprof.evidence import Fault, Reason
from kprof.launches_evidence import Launch, LaunchesEvidence, SideLaunches


def block_of(kernel: SideLaunches | None, ref: SideLaunches | None, **changes: Any) -> LaunchesBlock:
    return launches_block(h200_tiny(launches=LaunchesEvidence(kernel=kernel, ref=ref), **changes))


def test_one_kernel_against_nine() -> None:
    block = launches_block(h200_tiny())
    assert (block.status, block.kernel_launches, block.ref_launches, block.fusion_ratio) == ("ok", 1, 9, 9.0)
    assert (block.kernel_memset, block.ref_memset, block.ref_memcpy) == (0, 1, 0)
    assert (block.kernel_host_launches, block.ref_host_launches) == (1, 9)
    assert (block.kernel_operator_calls, block.ref_operator_calls) == (0, 1)
    # Eight of 1.5 us and one of 2; the fill of 1 us is no kernel, but the device was busy with it.
    assert block.ref_device_time_us == pytest.approx(14.0)
    assert block.ref_busy_us == pytest.approx(15.0)
    assert block.off_current_stream is False
    assert block.reasons == {}


def test_table_by_side_and_name_most_time_first() -> None:
    block = launches_block(h200_tiny())
    first, second = block.table[:2]
    assert (first.name, first.side, first.count, first.total_us) == ("logsumexp_kernel", "kernel", 1, 1.6)
    assert (first.grid, first.block) == ((2, 1, 1), (256, 1, 1))
    assert (second.name, second.side, second.count, second.total_us) == ("exp_kernel", "ref", 2, 3.5)
    assert len(block.table) == 9


def test_two_instances_of_one_template_are_two_rows_and_the_longest_gives_the_grid() -> None:
    short = kernel_launch("void f<4>(int)", 0.0, 1.0, grid=(1, 1, 1))
    long = kernel_launch("void f<4>(int)", 2.0, 3.0, grid=(9, 1, 1))
    other = kernel_launch("void f<8>(int)", 6.0, 2.0)
    block = block_of(SideLaunches(launches=(short, long, other)), None)
    assert [(row.name, row.count, row.total_us) for row in block.table] == [("f", 2, 4.0), ("f", 1, 2.0)]
    assert block.table[0].grid == (9, 1, 1)


def test_overlap_on_two_streams_is_counted_once() -> None:
    launches = (
        kernel_launch("a", 0.0, 10.0, stream=7),
        kernel_launch("b", 10.0, 10.0, stream=7),
        kernel_launch("c", 5.0, 10.0, stream=8),
        kernel_launch("d", 25.0, 0.0, stream=8),
    )
    block = block_of(SideLaunches(launches=launches), None)
    assert (block.kernel_busy_us, block.kernel_device_time_us, block.kernel_launches) == (20.0, 30.0, 4)


def test_a_graph_is_one_host_launch_and_many_kernels() -> None:
    launches = tuple(kernel_launch("k", float(i), 1.0, graph=True) for i in range(3))
    block = block_of(SideLaunches(launches=launches, host_launches=1), None)
    assert (block.kernel_host_launches, block.kernel_launches) == (1, 3)


def test_only_copies_have_no_fusion_ratio() -> None:
    copy = Launch(kind="memcpy", name="Memcpy DtoD", stream=7, start_us=0.0, duration_us=7.0)
    block = block_of(SideLaunches(launches=(copy,)), captures.tiny_launches().ref)
    assert (block.kernel_launches, block.kernel_memcpy, block.kernel_device_time_us) == (0, 1, 0.0)
    assert block.kernel_busy_us == 7.0
    assert block.fusion_ratio is None
    assert block.reasons["fusion_ratio"] == "no_kernels"


def test_nothing_seen_is_null_and_not_zero() -> None:
    lost = Reason(code="cupti_no_events", message="CUPTI did not start")
    block = block_of(SideLaunches(absent=lost, operator_calls=2), SideLaunches(absent=lost, operator_calls=7))
    assert (block.status, block.reason) == ("unavailable", lost)
    assert (block.kernel_launches, block.kernel_busy_us, block.fusion_ratio) == (None, None, None)
    assert block.kernel_operator_calls == 2
    assert block.reasons["kernel_launches"] == block.reasons["fusion_ratio"] == "cupti_no_events"
    assert "kernel_operator_calls" not in block.reasons


def test_a_reference_that_was_not_seen_leaves_the_kernels_counts() -> None:
    lost = Reason(code="runs_a_profiler", message="it has its own")
    block = block_of(captures.tiny_launches().kernel, SideLaunches(absent=lost))
    assert (block.status, block.kernel_launches, block.ref_launches) == ("ok", 1, None)
    assert block.reasons["ref_launches"] == block.reasons["fusion_ratio"] == "runs_a_profiler"
    assert block.reasons["ref_operator_calls"] == "runs_a_profiler"


def test_on_the_cpu_operator_calls_stand_beside() -> None:
    block = launches_block(captures.cpu_run())
    assert (block.status, block.kernel_launches, block.fusion_ratio) == ("ok", None, None)
    assert (block.kernel_operator_calls, block.ref_operator_calls) == (1, 7)
    assert set(block.reasons.values()) == {"no_device"}
    assert block.reasons["kernel_host_launches"] == "no_device"


def test_on_the_cpu_nothing_is_zero_even_if_the_collector_gave_no_reason() -> None:
    evidence = LaunchesEvidence(kernel=SideLaunches(operator_calls=1), ref=SideLaunches(operator_calls=7))
    block = launches_block(captures.cpu_run(launches=evidence))
    assert block.kernel_launches is None
    assert block.reasons["kernel_launches"] == "no_device"


def test_without_a_reference() -> None:
    block = launches_block(captures.without_ref(h200_tiny()))
    assert (block.kernel_launches, block.ref_launches) == (1, None)
    assert set(block.reasons.values()) == {"no_reference"}
    assert block.reasons["fusion_ratio"] == "no_reference"


def test_warnings_of_run_and_sides_each_once() -> None:
    varies = Reason(code="launch_count_varies", message="9, 9, 8 pieces")
    broken = Reason(code="incomplete_trace", message="it ends too early")
    side = SideLaunches(launches=(kernel_launch("k", 0.0, 1.0),), warnings=(varies, broken))
    block = launches_block(h200_tiny(launches=LaunchesEvidence(kernel=side, ref=side, warnings=(broken,))))
    assert block.warnings == (broken, varies)


def test_a_fault_with_the_kernel_seen_is_suspect_and_without_it_failed() -> None:
    fault = Fault(stage="launches", side="ref", code="crashed", message="SIGSEGV")
    seen = block_of(captures.tiny_launches().kernel, None, faults=(fault,))
    assert (seen.status, seen.kernel_launches) == ("suspect", 1)
    assert seen.reasons["ref_launches"] == "crashed"
    lost = launches_block(h200_tiny(faults=(fault,), launches=None))
    assert lost.status == "failed"
    assert lost.reason is not None
    assert lost.reason.message == "reference: SIGSEGV"


def test_a_missing_grid_is_said() -> None:
    bare = msgspec.structs.replace(kernel_launch("k", 0.0, 1.0), grid=None, block=None)
    block = block_of(SideLaunches(launches=(bare,), host_launches=1, operator_calls=0), None)
    assert block.table[0].grid is None
    assert block.reasons["table[0].grid"] == block.reasons["table[0].block"] == "not_collected"
