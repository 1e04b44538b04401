"""Reading Chrome traces: what a row carries, files that are broken, and a trace of this torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function
from trace_events import PREFIX, event, kernel, trace

from kprof.collectors.launches.trace import DeviceRow, TraceEvents, read_trace
from kprof.collectors.launches.windows import (
    find_windows,
)
from kprof.errors import CannotMeasureError


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
