"""What the page says, before the template lays it out: plain text and records, escaped by the template."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from kprof.blocks.base import Block
from kprof.blocks.bottleneck import Advice, Evidence
from kprof.blocks.integrity.check import Check
from kprof.blocks.kernels import KernelLaunch
from kprof.context import ClockInfo
from kprof.evidence import Reason
from kprof.renderers import quantities
from kprof.renderers.content import Section, Tone
from kprof.renderers.content import Verdict as Answer
from kprof.renderers.html.bars import Meter, Part, stall_meters, time_parts, unit_meters
from kprof.renderers.html.fields import Row, rows_of, shown
from kprof.renderers.html.launches import HEADERS, Launch, most_time, row_of
from kprof.renderers.layout import Style
from kprof.renderers.plot.scene import scene_of
from kprof.renderers.sections.belief import advice_waits
from kprof.renderers.sections.call import call_section
from kprof.renderers.sections.counters import counters_section
from kprof.renderers.sections.summary import circumstances, sections, title
from kprof.renderers.sections.timing import timing_section
from kprof.renderers.sections.verdict import verdicts
from kprof.renderers.svg import render as render_svg
from kprof.report import BLOCK_NAMES, Report
from kprof.verdicts import Verdict

_HEADLINE: Final = re.compile(r"^(.{1,48}?)(?:; | \(|, slower| by | of the )(.*)$", re.DOTALL)
_NOTES: Final = frozenset({"warnings", "not measured"})
_ON_BARS: Final = frozenset({"busiest", "DRAM", "occupancy", "warps wait"})
"""What the summary says of the counters in words, and the page in bars."""
_MACHINE: Final = (
    "device_name", "device", "gpu_uuid", "compute_capability", "sm_count", "memory_bytes", "l2_bytes", "spec", "driver",
    "cuda", "torch", "triton", "ncu", "python", "compiler", "cpu_threads", "tf32_matmul", "tf32_cudnn",
)  # fmt: skip
_FILES: Final = ("kernel_file", "kernel_sha256", "ref_file", "ref_sha256", "entry", "kind", "ref_mode", "seed")
_LONGEST_LOG: Final = 4000
_STYLE: Final = Style()
_GATE_TONES: Final[dict[str, Tone]] = {"pass": "good", "fail": "bad"}
_STATUS_TONES: Final[dict[str, Tone]] = {"ok": "good", "suspect": "doubt", "failed": "bad"}


@dataclass(frozen=True)
class Card:
    """One answer of the verdict."""

    label: str
    tone: Tone
    headline: str
    rest: str
    more: tuple[str, ...]
    log: tuple[str, ...]


@dataclass(frozen=True)
class Named:
    """A block with everything it holds."""

    name: str
    block: Block
    tone: Tone
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Gate:
    """One gate: the verdict, and its numbers as text."""

    verdict: Verdict
    tone: Tone
    value: str
    baseline: str
    threshold: str
    change: str


@dataclass(frozen=True)
class Page:
    """Everything on the page."""

    title: str
    circumstances: tuple[str, ...]
    created: str
    source: str
    kprof_version: str
    cards: tuple[Card, ...]
    gates: tuple[Gate, ...]
    advice: tuple[Advice, ...]
    evidence: tuple[Evidence, ...]
    host: str
    parts: tuple[Part, ...]
    plot: Markup
    no_plot: Reason | None
    units: tuple[Meter, ...]
    facts: tuple[tuple[str, str], ...]
    stalls: tuple[Meter, ...]
    stalls_method: str
    headers: tuple[str, ...]
    launches: tuple[KernelLaunch, ...]
    rows: tuple[Launch, ...]
    left_out: int
    sides: bool
    timing: Section | None
    call: Section | None
    checks: tuple[Check, ...]
    notes: tuple[Section, ...]
    blocks: tuple[Named, ...]
    environment: tuple[tuple[str, str], ...]
    command: str
    logs: tuple[tuple[str, str], ...]


def page_of(report: Report) -> Page:
    """The page of a report."""
    blocks = report.blocks
    kept = most_time(report.kernels)
    host = blocks.waterfall.host_us
    no_plot = scene_of(report).absent
    silent = bool(advice_waits(blocks))
    return Page(
        title=_STYLE.clean(title(report)),
        circumstances=tuple(map(_STYLE.clean, circumstances(report))),
        created=report.created,
        source=report.source,
        kprof_version=report.kprof_version,
        cards=tuple(map(_card, verdicts(report))),
        gates=tuple(map(_gate, report.gates)),
        advice=() if silent else blocks.bottleneck.advice or (),
        evidence=() if silent else blocks.bottleneck.evidence or (),
        host="" if host is None else quantities.duration(host),
        parts=time_parts(blocks.waterfall),
        plot=Markup("" if no_plot is not None else render_svg(report)),
        no_plot=no_plot,
        units=unit_meters(blocks),
        facts=tuple(fact for fact in _facts(report) if fact[0] not in _ON_BARS),
        stalls=stall_meters(blocks.stalls),
        stalls_method=blocks.stalls.method or "",
        headers=HEADERS,
        launches=kept,
        rows=tuple(row_of(one, advised=not silent) for one in kept),
        left_out=len(report.kernels) - len(kept),
        sides=any(one.side is not None for one in kept),
        timing=timing_section(blocks.timing),
        call=call_section(blocks),
        checks=blocks.integrity.checks or (),
        notes=tuple(section for section in sections(report) if section.title in _NOTES),
        blocks=tuple(_named(name, getattr(blocks, name)) for name in BLOCK_NAMES),
        environment=tuple(_environment(report)),
        command=shlex.join(map(_STYLE.clean, report.environment.command)),
        logs=tuple(_logs(report)),
    )


def _card(answer: Answer) -> Card:
    """The first words large, the rest below them."""
    text = _STYLE.clean(answer.text)
    found = _HEADLINE.match(text)
    headline, rest = (found[1], text[found.end(1) :].lstrip(",; ")) if found else (text, "")
    clean = tuple(map(_STYLE.clean, answer.more))
    return Card(answer.label, answer.tone, headline, rest, clean, tuple(map(_STYLE.verbatim, answer.log)))


def _facts(report: Report) -> tuple[tuple[str, str], ...]:
    section = counters_section(report)
    return () if section is None else section.facts


def _named(name: str, block: Block) -> Named:
    return Named(name, block, _STATUS_TONES.get(block.status, "plain"), rows_of(name, block))


def _gate(verdict: Verdict) -> Gate:
    unit = f" {verdict.unit}" if verdict.unit and verdict.unit not in ("text", "bool", "record", "ratio") else ""
    value, baseline, threshold = (
        "" if one is None else f"{shown(one)}{unit}" for one in (verdict.value, verdict.baseline, verdict.threshold)
    )
    change = "" if verdict.change_pct is None else f"{verdict.change_pct:+.3g} %"
    return Gate(verdict, _GATE_TONES.get(verdict.verdict, "doubt"), value, baseline, threshold, change)


def _environment(report: Report) -> Iterator[tuple[str, str]]:
    """What is known of machine, software and files; what is not there is null in the JSON and has no line here."""
    environment, workload = report.environment, report.workload
    for record, names in ((environment, _MACHINE), (workload, _FILES)):
        for name in names:
            value = getattr(record, name)
            if value is not None:
                yield name.replace("_", " "), str(value) if name == "seed" else shown(value)
    if workload.overrides:
        yield "set", ", ".join(f"{name}={shown(value)}" for name, value in workload.overrides.items())
    for when, clocks in (("before", environment.clocks_before), ("after", environment.clocks_after)):
        if clocks is not None:
            yield f"clocks {when}", _clocks(clocks)
    for name, reason in (("clocks", environment.clocks_reason), ("spec", environment.spec_reason)):
        if reason is not None:
            yield name, _STYLE.clean(f"{reason.message} ({reason.code})")


def _clocks(clocks: ClockInfo) -> str:
    told = (
        ("SM", clocks.sm_mhz, "MHz"),
        ("memory", clocks.memory_mhz, "MHz"),
        ("power", clocks.power_w, "W"),
        ("", clocks.temperature_c, "°C"),
    )
    parts = [f"{name} {value:.0f} {unit}".strip() for name, value, unit in told if value is not None]
    return "; ".join((*parts, *(clocks.throttle_reasons or ())))


def _logs(report: Report) -> Iterator[tuple[str, str]]:
    """Output of what was built and of what failed, its end where it is long."""
    if report.blocks.build.log_tail:
        yield "build", _log(report.blocks.build.log_tail)
    for fault in report.faults:
        if fault.detail:
            yield f"{fault.stage}{f', {fault.side}' if fault.side else ''}: {fault.code}", _log(fault.detail)


def _log(text: str) -> str:
    return "\n".join(_STYLE.verbatim(line.rstrip()) for line in text[-_LONGEST_LOG:].splitlines())
