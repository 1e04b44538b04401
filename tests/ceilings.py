"""Measured ceilings made up for tests: an H200 and a small processor."""

from __future__ import annotations

from typing import Any

from kprof.ceilings_evidence import CeilingsEvidence, MeasuredCeiling, Name, Unit


def ceiling(name: Name, median: float, unit: Unit = "byte/s", **more: Any) -> MeasuredCeiling:
    """One, whose slowest sample is 10 % below its median and whose fastest 1 % above."""
    ends = (median * 1.1, median * 0.99) if unit == "us" else (median * 0.9, median * 1.01)
    told: dict[str, Any] = {"worst": ends[0], "best": ends[1], "samples": 15, "method": "made up", **more}
    return MeasuredCeiling(name=name, unit=unit, median=median, **told)


def h200_ceilings(**changes: Any) -> CeilingsEvidence:
    """Of a board: copy 4000, triad 4150, read 4500 GB/s."""
    told: dict[str, Any] = {
        "kprof_version": "0.1.0",
        "created": "2026-12-01T12:00:00Z",
        "device": "cuda:0",
        "device_name": "NVIDIA H200",
        "gpu_uuid": "GPU-1",
        "memory_bytes": 150_000_000_000,
        "driver": "580.1",
        "cuda": "13.0",
        "torch": "2.11.0",
        "seconds": 20.0,
        "measured": (
            ceiling("dram_read", 4500e9, footprint_bytes=2**30, sm_clock_mhz=1980),
            ceiling("dram_copy", 4000e9, footprint_bytes=2**31),
            ceiling("dram_triad", 4150e9, footprint_bytes=3 * 2**30),
            ceiling("l2", 9000e9, footprint_bytes=2**23),
            ceiling("l1", 30e12),
            ceiling("fp32", 60e12, "FLOP/s"),
            ceiling("bf16", 800e12, "FLOP/s"),
            ceiling("empty_kernel", 0.9, "us"),
        ),
    }
    return CeilingsEvidence(**{**told, **changes})


def cpu_ceilings(**changes: Any) -> CeilingsEvidence:
    """Of a processor: caches 150 to 100 GB/s, DRAM 40 to 50, FP32 100 GFLOP/s, a call 3 us."""
    told: dict[str, Any] = {
        "kprof_version": "0.1.0",
        "created": "2026-12-01T12:00:00Z",
        "device": "cpu",
        "device_name": "Xeon",
        "torch": "2.11.0",
        "cpu_threads": 2,
        "seconds": 1.0,
        "quick": True,
        "measured": (
            ceiling("cache", 80e9, footprint_bytes=2**18),
            ceiling("cache", 150e9, footprint_bytes=2**20),
            ceiling("cache", 100e9, footprint_bytes=2**24),
            ceiling("dram_read", 50e9, footprint_bytes=2**27),
            ceiling("dram_copy", 40e9, footprint_bytes=2**27),
            ceiling("fp32", 100e9, "FLOP/s"),
            ceiling("call", 3.0, "us"),
        ),
    }
    return CeilingsEvidence(**{**told, **changes})
