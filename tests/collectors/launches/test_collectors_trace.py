"""Reading Chrome traces and attributing what is in them; the inputs are those of the cases named, and real ones."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function

from kprof.collectors.launches.trace import DeviceRow, TraceEvents, read_trace
from kprof.collectors.launches.windows import (
    Window,
    find_windows,
    graph_correlations,
    launch_calls,
    queue_kept_full,
    span_ns,
)
from kprof.errors import CannotMeasureError
from kprof.statistics import union_length

PREFIX = "kprof.window:"


def event(cat: str, name: str, ts: float, dur: float, tid: int | str = 1, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 9, "tid": tid, "ts": ts, "dur": dur, "args": args}


def kernel(name: str, ts: float, dur: float, correlation: int, stream: int = 7) -> dict[str, Any]:
    return event("kernel", name, ts, dur, tid=stream, correlation=correlation, stream=stream)


def launch(
    ts: float, correlation: int, name: str = "cudaLaunchKernel", dur: float = 1.0, tid: int = 1
) -> dict[str, Any]:
    cat = "cuda_driver" if name.startswith("cuL") or name.startswith("cuG") else "cuda_runtime"
    return event(cat, name, ts, dur, tid=tid, correlation=correlation)


def annotated(ts: float, dur: float, name: str = PREFIX + "kernel:plain:0") -> dict[str, Any]:
    return event("user_annotation", name, ts, dur)


def trace(*events: dict[str, Any]) -> bytes:
    return json.dumps({"schemaVersion": 1, "traceEvents": list(events)}).encode()


def the_window(*events: dict[str, Any]) -> Window:
    (window,) = find_windows(read_trace(trace(*events)), PREFIX)
    return window


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


class TestRows:
    def test_what_a_kernel_row_carries(self) -> None:
        args: dict[str, Any] = {
            "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 42, "External id": 3,
            "registers per thread": 32, "shared memory": 1024, "blocks per SM": 0.015, "grid": [2, 1, 1],
            "block": [256, 1, 1],
        }  # fmt: skip
        (row,) = read_trace(trace(event("kernel", "k<float>", 12.5, 1.536, **args))).device_rows
        assert row == DeviceRow(
            kind="kernel", name="k<float>", start_ns=12_500, duration_ns=1536, stream=7, grid=(2, 1, 1),
            block=(256, 1, 1), registers_per_thread=32, shared_bytes=1024, correlation=42, external_id=3,
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("args", "in_graph"), [({}, False), ({"graph id": 0}, False), ({"graph node id": 5}, True)]
    )
    def test_newer_versions_say_which_rows_a_graph_launched(self, args: dict[str, int], in_graph: bool) -> None:
        (row,) = read_trace(trace(event("kernel", "k", 1, 1, **args))).device_rows
        assert row.in_graph is in_graph

    def test_absent_arguments_stay_absent(self) -> None:
        (row,) = read_trace(trace(event("gpu_memset", "Memset", 1, 1, grid="n/a", stream=None))).device_rows
        assert (row.stream, row.grid, row.registers_per_thread, row.correlation) == (None, None, None, None)

    def test_a_name_of_any_length_comes_back_as_it_was(self) -> None:
        name = "void k<" + "x, " * 66_000 + '"y">'
        (row,) = read_trace(trace(kernel(name, 1, 1, 1))).device_rows
        assert row.name == name

    def test_nanoseconds_survive_a_base_months_ago(self) -> None:
        text = (
            '{"baseTimeNanoseconds": 1790857026000000000, "traceEvents": ['
            '{"ph": "X", "cat": "kernel", "name": "k", "ts": 7895287723721937.527, "dur": 0.033},'
            '{"ph": "X", "cat": "kernel", "name": "k", "ts": 7895287723721937.528, "dur": 1}]}'
        )
        first, second = read_trace(text.encode()).device_rows
        assert (first.start_ns, first.duration_ns) == (7895287723721937527, 33)
        assert second.start_ns - first.start_ns == 1
        # A float64 cannot tell the two apart.
        assert float("7895287723721937.527") == float("7895287723721937.528")

    def test_events_without_believable_times_are_counted_and_left_out(self) -> None:
        zeros = event("kernel", "k", 0.0, 0.0)
        backwards = event("kernel", "k", 5, -1)
        no_end = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 5}
        huge = event("cpu_op", "o", 5, 1) | {"ts": "1e999999999"}
        events = read_trace(trace(zeros, backwards, no_end, huge, kernel("good", 1, 1, 1)))
        assert [row.name for row in events.device_rows] == ["good"]
        assert (events.skipped, events.calls, events.operators, events.complete) == (4, (), (), False)


class TestBrokenFiles:
    """Case 29: traces that are not JSON, or not all there."""

    GOOD = '{"ph": "X", "cat": "kernel", "name": "good", "ts": 5.001, "dur": 1.5, "args": {"stream": 7}}'

    def read(self, *events: str, end: str = "]}") -> TraceEvents:
        return read_trace(('{"displayTimeUnit": "ms", "traceEvents": [' + ",\n".join(events) + end).encode())

    def names(self, events: TraceEvents) -> list[str]:
        return [row.name for row in events.device_rows]

    @pytest.mark.parametrize("number", ["inf", "-inf", "nan", "Infinity", "NaN", "-nan"])
    def test_bare_infinities_are_mended(self, number: str) -> None:
        copy = (
            '{"ph": "X", "cat": "gpu_memcpy", "name": "copy, inf", "ts": 2, "dur": 0, '
            f'"args": {{"memory bandwidth (GB/s)": {number}, "stream": 3}}}}'
        )
        for events in (self.read(copy, self.GOOD), self.read(self.GOOD, copy)):
            assert sorted(self.names(events)) == ["copy, inf", "good"]
            assert {row.stream for row in events.device_rows} == {3, 7}
            assert events.complete

    def test_a_start_that_is_no_number_is_no_start(self) -> None:
        events = self.read('{"ph": "X", "cat": "kernel", "name": "k", "ts": inf, "dur": 1}', self.GOOD)
        assert (self.names(events), events.skipped) == (["good"], 1)

    def test_single_backslashes_are_mended(self) -> None:
        windows_path = r'{"ph": "X", "cat": "kernel", "name": "C:\dir\kernel \u12 \"q\" \n", "ts": 2, "dur": 1}'
        events = self.read(windows_path, self.GOOD)
        assert self.names(events) == ['C:\\dir\\kernel \\u12 "q" \n', "good"]
        assert events.complete

    def test_a_backslash_that_swallows_the_quote_costs_its_own_event_only(self) -> None:
        swallowed = r'{"ph": "X", "cat": "kernel", "name": "C:\dir\", "ts": 2, "dur": 1}'
        events = self.read(self.GOOD, swallowed, self.GOOD)
        assert self.names(events) == ["good", "good"]
        assert (events.skipped, events.truncated) == (1, False)

    def test_control_characters_and_bad_utf8_pass(self) -> None:
        data = b'{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a\x01\t\xff\xfeb", "ts": 1, "dur": 1}]}'
        (row,) = read_trace(data).device_rows
        assert row.name == "a\x01\t\ufffd\ufffdb"

    @pytest.mark.parametrize("cut", [1, 2, 30, 60, 90])
    def test_a_truncated_file_keeps_its_whole_events(self, cut: int) -> None:
        whole = '{"traceEvents": [' + ",\n".join([self.GOOD] * 3) + "]}"
        events = read_trace(whole[:-cut].encode())
        assert len(events.device_rows) == (3 if cut <= 2 else 2)
        assert events.truncated is (cut > 1)
        # Without its last brace alone the list of events is whole.
        assert events.complete is (cut == 1)

    def test_a_bare_list_and_a_byte_order_mark_are_read(self) -> None:
        assert self.names(read_trace(f"\ufeff[{self.GOOD}]".encode())) == ["good"]
        assert self.names(read_trace(f"[{self.GOOD},".encode())) == ["good"]

    @pytest.mark.parametrize(
        "data", [b"", b"{}", b'{"traceEvents": 3}', b"null", b"hello", b"[" * 100_000, b"1" * 9999]
    )
    def test_what_is_no_trace_is_refused_by_name(self, data: bytes) -> None:
        if data.startswith(b"["):
            assert read_trace(data).truncated
            return
        with pytest.raises(CannotMeasureError) as caught:
            read_trace(data)
        assert caught.value.code == "trace_unreadable"
        assert str(len(data)) in caught.value.message

    def test_a_trace_over_the_cap_is_refused_with_both_sizes(self) -> None:
        with pytest.raises(CannotMeasureError) as caught:
            read_trace(b" " * 3_000_000, max_bytes=2_000_000)
        assert caught.value.code == "trace_too_large"
        assert "3 MB" in caught.value.message
        assert "2 MB" in caught.value.message

    def test_events_of_odd_shapes_do_no_harm(self) -> None:
        odd = [
            "3",
            "null",
            '"x"',
            "[]",
            '{"cat": "kernel"}',
            '{"cat": 3, "args": 4}',
            '{"cat": "kernel", "ts": true, "dur": []}',
        ]
        events = self.read(*odd, self.GOOD)
        assert (self.names(events), events.skipped) == (["good"], 2)


class TestRealTraces:
    def test_a_trace_of_this_torch(self, tmp_path: Path) -> None:
        x = torch.ones(8, 8)
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            torch.mm(x, x)
            for index in range(2):
                with record_function(f"{PREFIX}kernel:plain:{index}"):
                    torch.softmax(torch.mm(x, x), 1)
        profiler.export_chrome_trace(str(tmp_path / "t.json"))
        events = read_trace((tmp_path / "t.json").read_bytes())
        assert events.complete
        assert events.device_rows == ()
        windows = find_windows(events, PREFIX)
        assert [[op.name for op in window.operators] for window in windows] == [["aten::mm", "aten::softmax"]] * 2
        inside = [c for c in events.memory if windows[0].start_ns <= c.at_ns < windows[0].end_ns]
        assert [change.change_bytes for change in inside if change.change_bytes > 0] == [256, 256]
        assert all(change.on_cpu for change in inside)
