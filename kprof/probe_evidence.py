"""What a run of the probes leaves: what each does by construction, what a timer said, what the counters said."""

from __future__ import annotations

from typing import Final

import msgspec

from kprof.counter_evidence import CountersEvidence
from kprof.evidence import Reason, Record

RAN: Final = "ok"
UNSUPPORTED: Final = "unsupported"
"""The board cannot do what the probe does."""


class ProbeBoard(Record, frozen=True, kw_only=True):
    """The board that probes ran on, and what they made of it."""

    name: str
    compute_capability: str
    sms: int
    l2_bytes: int
    memory_bytes: int
    buffer_bytes: int
    """Of each of the two buffers that probes move."""
    ridge_flop_per_byte: float
    cuda_driver: str
    """The newest CUDA that the driver knows."""


class ProbeRun(Record, frozen=True, kw_only=True):
    """One probe: its work by construction, and event pairs round single runs. None: its source does not tell."""

    probe: str
    launches: int
    read_bytes: float | None
    """From DRAM, all caches being empty before."""
    write_bytes: float | None
    """Up to the size of L2 may stay there when the kernel ends."""
    load_bytes: float | None
    """Of the sectors of 32 bytes that global loads ask L1 for."""
    store_bytes: float | None
    """Of those that global stores write."""
    fp32_flop: float | None
    fp64_flop: float | None
    fp16_flop: float | None
    """Outside the tensor cores."""
    tensor_flop: float | None
    event_us: tuple[float, ...] = ()
    """With L2 emptied and the queue full; an event pair round nothing is in each of them."""
    status: str = RAN
    """`RAN`, `UNSUPPORTED`, or what failed."""


class ProbesEvidence(Record, frozen=True, kw_only=True):
    """All that one run of the probes brought."""

    board: ProbeBoard
    empty_pair_us: float | None = None
    """An event pair round nothing."""
    runs: tuple[ProbeRun, ...] = ()
    lost: dict[str, Reason] = msgspec.field(default_factory=dict)
    """Probes that were not built or did not run, and why."""
    logs: dict[str, str] = msgspec.field(default_factory=dict)
    """What the compiler said of those that were not built."""
    counters: CountersEvidence | None = None
    nvcc: str | None = None
    driver: str | None = None
    seconds: dict[str, float] = msgspec.field(default_factory=dict)
    """What each step took."""
