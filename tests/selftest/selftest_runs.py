"""The recorded probes of tests/data/ncu as a self-test sees them: their work by construction, from their source."""

from __future__ import annotations

from typing import Any

import msgspec

from kprof.probe_evidence import ProbeBoard, ProbeRun

MIB = 2**20
BOARD = ProbeBoard(
    name="NVIDIA H200",
    compute_capability="9.0",
    sms=132,
    l2_bytes=60 * MIB,
    memory_bytes=150_109_880_320,
    buffer_bytes=2**30,
    ridge_flop_per_byte=13.9,
    cuda_driver="13.0",
)
EMPTY_PAIR_US = 1.28
THREADS = 8 * 132 * 256  # of the launches that fill the board
# Work of the launches as tests/data/ncu/probes.cu states them; their times are of another run than the report's.
WORK: dict[str, dict[str, Any]] = {
    "dram_copy": {
        "read_bytes": 2.0**30,
        "write_bytes": 2.0**30,
        "load_bytes": 2.0**30,
        "store_bytes": 2.0**30,
        "event_us": (533.0, 534.0, 533.5),
    },
    "fma_fp32": {"fp32_flop": THREADS * (2.0 * 8 * 4096 + 8), "event_us": (298.0,)},
    "mma_fp16": {
        "tensor_flop": THREADS / 32 * 4096.0 * 4 * 2048,
        "fp32_flop": THREADS * 16.0,
        "event_us": (447.0,),
    },
    "l2_read": {"read_bytes": 16.0 * MIB, "fp32_flop": THREADS * (4.0 * 16 * 64 + 0), "event_us": (480.0,)},
    "smem_conflict": {"fp32_flop": THREADS * 1024.0, "event_us": (1067.0,)},
}


def run(name: str, **other: Any) -> ProbeRun:
    """One probe's run."""
    nothing = {
        "launches": 1,
        "read_bytes": 0.0,
        "write_bytes": 0.0,
        "load_bytes": None,
        "store_bytes": None,
        "fp32_flop": 0.0,
        "fp64_flop": 0.0,
        "fp16_flop": 0.0,
        "tensor_flop": 0.0,
    }
    return msgspec.convert({"probe": name, **nothing, **WORK.get(name, {}), **other}, ProbeRun)
