"""A self-test as text: one row a probe, every miss below with its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kprof.renderers import quantities
from kprof.renderers.content import Tone, Verdict
from kprof.renderers.layout import Style
from kprof.selftest.records import Check, ProbeResult, SelftestResult

_HEADERS: Final = ("probe", "read", "write", "FLOP", "time", "label", "")
_FLOP: Final = ("fp32_flop", "fp64_flop", "fp16_flop", "tensor_flop")
_SMALL_BYTES: Final = 64e6
"""Under it a difference is told in bytes: it may all be in L2, and of next to nothing a percentage says nothing."""


def render_selftest(result: SelftestResult, style: Style) -> str:
    """The whole test, one trailing newline."""
    lines = [
        *_head(result, style),
        "",
        *style.table(_HEADERS, [_row(probe) for probe in result.probes], words=(0, 5, 6)),
        *style.wrapped(
            "Differences: measured by counters less what the probe does by construction; time: ncu's less that of "
            "event pairs. FLOP: of the type that is furthest off."
        ),
    ]
    missed = [line for probe in result.probes for line in _misses(probe, style)]
    if missed:
        lines += [style.heading("misses"), *missed]
    for warning in result.warnings:
        lines += style.wrapped(f"! {warning.code}: {warning.message}", indent="  ", first="")
    return "\n".join((*lines, *_verdict(result, style))) + "\n"


def _head(result: SelftestResult, style: Style) -> list[str]:
    board = result.board
    spec = result.spec or "no spec of this board is known"
    took = ", ".join(f"{name} {quantities.seconds(time)}" for name, time in result.seconds.items())
    return [
        *style.wrapped(f"self-test on {board.name} ({spec}), {board.sms} SMs, L2 {quantities.size(board.l2_bytes)}"),
        *style.wrapped(
            f"driver {result.driver or 'unknown'}, ncu {result.ncu or 'unknown'}, {result.nvcc or 'nvcc'}, "
            f"kprof {result.kprof_version}",
            indent="  ",
        ),
        *style.wrapped(
            f"{took}; {result.ncu_passes or '?'} passes; an empty event pair takes {_us(result)}", indent="  "
        ),
    ]


def _us(result: SelftestResult) -> str:
    return "unknown" if result.empty_pair_us is None else quantities.duration(result.empty_pair_us)


def _row(probe: ProbeResult) -> list[str]:
    if not probe.checks:
        code = probe.reason.code if probe.reason is not None else ""
        return [probe.name, "-", "-", "-", "-", code, "-" if probe.status == "unsupported" else "MISS"]
    by_name = {check.name: check for check in probe.checks}
    flop = [check for check in probe.checks if check.name in _FLOP]
    worst = max(flop, key=lambda check: abs(check.off_pct or 0.0), default=None)
    label = by_name.get("label")
    return [
        probe.name,
        difference(by_name.get("dram_read")),
        difference(by_name.get("dram_write")),
        difference(worst),
        difference(by_name.get("duration")),
        "-" if label is None else str(label.measured),
        "ok" if probe.status == "ok" else "MISS",
    ]


def difference(check: Check | None, digits: int = 2) -> str:
    """Measured less expected: in percent; of few bytes in bytes."""
    if check is None:
        return "-"
    if not isinstance(check.measured, float) or not isinstance(check.expected, float):
        return "null"
    off = check.measured - check.expected
    if check.unit == "bytes" and check.expected < _SMALL_BYTES:
        return f"{'-' if off < 0 else '+'}{quantities.size(abs(off))}"
    return f"{check.measured:g}" if check.off_pct is None else f"{check.off_pct:+.{digits}f} %"


def _misses(probe: ProbeResult, style: Style) -> Iterator[str]:
    if probe.status == "failed" and probe.reason is not None:
        yield from style.wrapped(f"{probe.name}: {probe.reason.code}: {probe.reason.message}", indent="  ", first="")
    for check in probe.checks:
        if not check.passed:
            off = "" if check.off_pct is None else f", {check.off_pct:+.2f} %"
            note = f" ({check.note})" if check.note else ""
            text = (
                f"{probe.name}: {check.name}: {_told(check, check.measured)}, expected {_told(check, check.expected)}"
            )
            yield from style.wrapped(f"{text}{off}{note}; allowed: {check.allowed}", indent="  ", first="")


def _told(check: Check, value: float | str | None) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return value
    if check.unit == "bytes":
        return quantities.size(value)
    return quantities.duration(value) if check.unit == "us" else f"{value:.6g}"


def _verdict(result: SelftestResult, style: Style) -> list[str]:
    checks = [check for probe in result.probes for check in probe.checks]
    right = sum(check.passed for check in checks)
    counts = {status: sum(p.status == status for p in result.probes) for status in ("ok", "missed", "failed")}
    text = f"{counts['ok']} of {sum(counts.values())} probes agree, {right} of {len(checks)} checks"
    if counts["failed"]:
        text += f"; {counts['failed']} could not be tried"
    tone: Tone = "good" if result.passed else "bad"
    return style.verdict(Verdict(label="AGREES" if result.passed else "MISSES", text=text, tone=tone))
