"""Events of a Chrome trace as torch's profiler writes them, for the tests of what reads them."""

from __future__ import annotations

import json
from typing import Any

from kprof.collectors.launches.trace import read_trace
from kprof.collectors.launches.windows import (
    Window,
    find_windows,
)

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
