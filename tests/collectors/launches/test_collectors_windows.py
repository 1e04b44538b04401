"""Attributing what is in a trace to the call that launched it, and its time."""

from __future__ import annotations

from collections import Counter

import pytest
from trace_events import PREFIX, annotated, event, kernel, launch, the_window, trace

from kprof.collectors.launches.trace import DeviceRow, read_trace
from kprof.collectors.launches.windows import (
    find_windows,
    graph_correlations,
    launch_calls,
    queue_kept_full,
    span_ns,
)
from kprof.statistics import union_length


class TestDeviceWorkOnly:
    """Cases 26 and 27: what counts as device work, and what of it belongs to the window."""

    EVENTS = (
        # The flush, ahead of the window; its kernel runs on the device while the window is open already.
        launch(80, 1),
        kernel("FillFunctor", 101, 50, 1),
        annotated(100, 100),
        event("cpu_op", "aten::add", 101, 30, device_time_total=25),
        launch(105, 2),
        launch(110, 3),
        launch(115, 4),
        event("cuda_runtime", "cudaMemcpyAsync", 120, 1, correlation=5),
        event("cuda_runtime", "cudaMemsetAsync", 125, 1, correlation=6),
        launch(130, 7),
        event("overhead", "Lazy Function Loading", 130, 30, tid=-1),
        event("overhead", "Activity Buffer Request", 160, 30, tid=-1),
        event("python_function", "kernel.py(3): forward", 100, 90),
        event("gpu_user_annotation", PREFIX + "kernel:plain:0", 152, 40, tid=7),
        kernel("a", 152, 10, 2),
        kernel("a", 162, 10, 3),
        kernel("b", 172, 5, 4),
        event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 178, 7, correlation=5, stream=7, bytes=64),
        event("gpu_memset", "Memset (Device)", 186, 2, correlation=6, stream=7),
        # The model's own fill, which ends after the window has closed on the host.
        kernel("FillFunctor", 250, 3, 7),
    )

    def test_kernels_copies_and_fills_are_counted_apart_and_the_flush_is_not_among_them(self) -> None:
        window = the_window(*self.EVENTS)
        assert Counter(row.kind for row in window.rows) == {"kernel": 4, "memcpy": 1, "memset": 1}
        assert [row.name for row in window.rows if row.kind == "kernel"] == ["a", "a", "b", "FillFunctor"]

    def test_device_time_is_that_of_device_rows_alone(self) -> None:
        rows = the_window(*self.EVENTS).rows
        assert sum(row.duration_ns for row in rows if row.kind == "kernel") == 28_000
        assert sum(row.duration_ns for row in rows) == 37_000

    def test_host_launches_are_those_of_kernels(self) -> None:
        assert len(launch_calls(the_window(*self.EVENTS))) == 4

    def test_only_the_outermost_operator_counts(self) -> None:
        nested = event("cpu_op", "aten::add_", 102, 10)
        beside = event("cpu_op", "aten::add_", 102, 10, tid=2)
        outside = event("cpu_op", "aten::mul", 300, 10)
        window = the_window(*self.EVENTS, nested, beside, outside)
        assert Counter(op.name for op in window.operators) == {"aten::add": 1, "aten::add_": 1}

    def test_a_launch_on_another_thread_belongs_to_the_window(self) -> None:
        window = the_window(annotated(100, 100), launch(110, 1, tid=2), kernel("k", 300, 1, 1))
        assert [row.name for row in window.rows] == ["k"]

    def test_a_row_whose_call_is_not_in_the_trace_goes_by_its_operator(self) -> None:
        copy = event("gpu_memcpy", "Memcpy", 300, 1, correlation=50, **{"External id": 11})
        inside = event("cpu_op", "mine::copy", 110, 5, **{"External id": 11})
        assert [row.name for row in the_window(annotated(100, 100), inside, copy).rows] == ["Memcpy"]
        before = event("cpu_op", "mine::copy", 90, 5, **{"External id": 11})
        assert the_window(annotated(100, 100), before, copy).rows == ()

    def test_a_row_whose_call_is_in_the_trace_goes_by_it_alone(self) -> None:
        inside = event("cpu_op", "mine::copy", 110, 5, **{"External id": 11})
        row = event("kernel", "flush", 300, 1, correlation=50, **{"External id": 11})
        assert the_window(annotated(100, 100), launch(90, 50), inside, row).rows == ()

    def test_other_annotations_are_no_windows(self) -> None:
        assert find_windows(read_trace(trace(annotated(1, 2, "forward"))), PREFIX) == ()


class TestStreamsAndLaunchCalls:
    """Case 28: overlapping streams, a row of no length, every way to launch."""

    EVENTS = (
        annotated(0, 100),
        launch(1, 1),
        launch(2, 2, "cudaLaunchKernelExC"),
        # The driver's call inside the runtime's: one with the same id, one with an id of its own.
        launch(2.2, 2, "cuLaunchKernelEx", dur=0.5),
        launch(4, 3, "cuLaunchKernel"),
        launch(6, 4, "cuLaunchKernelEx"),
        launch(8, 5, "cudaLaunchCooperativeKernel_v9000", dur=2),
        launch(8.5, 55, "cuLaunchCooperativeKernel", dur=1),
        launch(12, 6, "cudaGraphLaunch"),
        kernel("k1", 20, 10, 1),
        kernel("k2", 30, 10, 2),
        kernel("k3", 25, 10, 3, stream=8),
        kernel("k4", 25, 0, 4, stream=8),
        kernel("k5", 40, 0, 5),
        kernel("g1", 40, 0, 6),
        kernel("g2", 40, 0, 6),
        kernel("g3", 40, 0, 6),
    )

    def test_busy_is_the_union_and_the_sum_stands_apart(self) -> None:
        rows = the_window(*self.EVENTS).rows
        busy = union_length((row.start_ns, row.end_ns) for row in rows)
        assert busy == 20_000
        assert sum(row.duration_ns for row in rows) == 30_000
        assert span_ns(rows) == 20_000
        assert 100 * busy / 20_000 == 100.0

    def test_each_launch_counts_once_and_a_graph_is_one(self) -> None:
        window = the_window(*self.EVENTS)
        assert [call.correlation for call in launch_calls(window)] == [1, 2, 3, 4, 5, 6]
        assert len(window.rows) == 8
        assert graph_correlations(window) == {6}

    def test_calls_that_share_a_correlation_id_are_one_launch(self) -> None:
        # The driver's clock reads a little late: its call seems to end after the runtime's.
        window = the_window(annotated(0, 9), launch(1, 1), launch(1.5, 1, "cuLaunchKernel"))
        assert [call.name for call in launch_calls(window)] == ["cudaLaunchKernel"]

    def test_a_call_of_unknown_name_that_launched_a_kernel_counts(self) -> None:
        window = the_window(
            annotated(0, 9),
            launch(1, 1, "INVALID"),
            launch(3, 2, "cudaMemcpyAsync"),
            kernel("k", 9, 1, 1),
            kernel("c", 9, 1, 2),
        )
        assert [call.name for call in launch_calls(window)] == ["INVALID"]

    def test_rows_of_no_length_divide_nothing(self) -> None:
        rows = [DeviceRow(kind="kernel", name="k", start_ns=5, duration_ns=0)]
        assert (union_length((row.start_ns, row.end_ns) for row in rows), span_ns(rows)) == (0, 0)
        assert (union_length([]), span_ns([])) == (0, None)

    def test_gaps_are_not_busy(self) -> None:
        rows = [DeviceRow(kind="kernel", name="k", start_ns=at, duration_ns=10) for at in (0, 5, 30)]
        busy = union_length((row.start_ns, row.end_ns) for row in rows)
        assert (busy, span_ns(rows)) == (25, 40)
        assert 100 * busy / 40 == 62.5

    @pytest.mark.parametrize(("first_start", "full"), [(13.0, True), (12.999, False)])
    def test_the_queue_is_full_when_the_last_launch_returned_before_the_first_row_began(
        self, first_start: float, full: bool
    ) -> None:
        window = the_window(
            annotated(0, 50), launch(5, 1), launch(12, 2), kernel("a", first_start, 1, 1), kernel("b", 40, 1, 2)
        )
        assert queue_kept_full(window) is full

    def test_without_work_the_queue_says_nothing(self) -> None:
        assert queue_kept_full(the_window(annotated(0, 50))) is None
