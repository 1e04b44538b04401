"""The records of a self-test: one check a number, one result a probe."""

from __future__ import annotations

from typing import Final, Literal

from kprof.evidence import Reason, Record
from kprof.probe_evidence import ProbeBoard

SELFTEST_VERSION: Final = 1
CheckName = Literal[
    "launches", "dram_read", "dram_write", "loaded", "stored", "fp32_flop", "fp64_flop", "fp16_flop", "tensor_flop",
    "duration", "label", "advice",
]  # fmt: skip
Unit = Literal["count", "bytes", "FLOP", "us", "text"]


class Check(Record, frozen=True, kw_only=True):
    """One number or label, held against what is true of it."""

    name: CheckName
    unit: Unit
    expected: float | str | None
    """By construction; of ``duration`` the median of the event pairs less that of an empty pair."""
    measured: float | str | None
    """As kprof's counters and analysis have it; None: they have no answer."""
    off_pct: float | None = None
    """Measured over expected, less 100 %; None where either is no number or nothing was expected."""
    allowed: str
    """How far they may be apart."""
    passed: bool
    note: str = ""


class ProbeResult(Record, frozen=True, kw_only=True):
    """One probe."""

    name: str
    status: Literal["ok", "missed", "unsupported", "failed"]
    """``missed``: some check failed; ``failed``: it could not be held against anything, and ``reason`` says why."""
    reason: Reason | None = None
    checks: tuple[Check, ...] = ()
    event_us: tuple[float, ...] = ()
    margin_pct: float | None = None
    """Distance of the label to its nearest border."""


class SelftestResult(Record, frozen=True, kw_only=True):
    """The whole test."""

    selftest_version: int = SELFTEST_VERSION
    kprof_version: str
    created: str
    """UTC, ISO 8601 with a Z."""
    passed: bool
    board: ProbeBoard
    spec: str | None
    """The board as kprof knows it; None: it does not."""
    driver: str | None
    nvcc: str | None
    ncu: str | None
    ncu_passes: int | None
    empty_pair_us: float | None
    seconds: dict[str, float]
    probes: tuple[ProbeResult, ...]
    warnings: tuple[Reason, ...] = ()
