"""The table of launches: one row each, with what stands behind its label."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kprof.blocks.base import Block
from kprof.blocks.kernels import KernelLaunch
from kprof.evidence import SIDE_NAMES
from kprof.renderers import quantities
from kprof.renderers.content import absent
from kprof.renderers.layout import Style
from kprof.renderers.sections.verdict import evidence

MOST: Final = 200
_NO_NAME: Final = "(no name)"
_LONGEST_NAME: Final = 90
_LONGEST_FULL_NAME: Final = 400
_MOST_EVIDENCE: Final = 4
_MOST_STALLS: Final = 3
_STYLE: Final = Style()


@dataclass(frozen=True)
class Cell:
    """One number: as text, as what a column is sorted by, and why there is none."""

    text: str
    key: str = ""
    why: str = ""


@dataclass(frozen=True)
class Launch:
    """One row."""

    number: int
    name: str
    full_name: str
    side: str
    label: str
    why_no_label: str
    cells: tuple[Cell, ...]
    evidence: tuple[str, ...]
    advice: tuple[str, ...]
    stalls: str


_Tell = Callable[[Any], str]


def _three(value: float) -> str:
    return quantities.significant(value, 3)


def _first_stall(value: Any) -> str:
    return str(value[0].reason) if value else "none"


_COLUMNS: Final[tuple[tuple[str, str, str, _Tell], ...]] = (
    ("time", "", "duration_us", quantities.duration),
    ("of roof", "roofline", "roofline_pct", quantities.share),
    ("DRAM", "sol", "dram_util_pct", quantities.share),
    ("compute", "sol", "compute_util_pct", quantities.share),
    ("FLOP/byte", "roofline", "arithmetic_intensity", _three),
    ("occupancy", "occupancy", "achieved_pct", quantities.share),
    ("registers", "occupancy", "registers_per_thread", quantities.count),
    ("L1 hits", "caches", "l1_hit_pct", quantities.share),
    ("L2 hits", "caches", "l2_hit_pct", quantities.share),
    ("sectors/load", "caches", "ld_sectors_per_request", _three),
    ("first stall", "stalls", "top", _first_stall),
    ("grid", "", "grid", quantities.extent),
    ("block", "", "block", quantities.extent),
)
HEADERS: Final = tuple(header for header, *_ in _COLUMNS)


def most_time(kernels: tuple[KernelLaunch, ...]) -> tuple[KernelLaunch, ...]:
    """The launches that the page shows, in launch order."""
    longest = sorted(kernels, key=lambda one: -(one.duration_us or 0.0))[:MOST]
    return tuple(sorted(longest, key=lambda one: one.id))


def row_of(one: KernelLaunch, *, advised: bool = True) -> Launch:
    """A launch as a row; ``advised``: with what to try."""
    bound = one.bottleneck
    label = "" if bound is None or bound.family is None else str(bound.family)
    label += f": {bound.limiter.replace('_', ' ')}" if bound is not None and bound.limiter else ""
    return Launch(
        number=one.id,
        name=_STYLE.shorten(_STYLE.clean(one.name), _LONGEST_NAME) or _NO_NAME,
        full_name=_STYLE.shorten(_STYLE.clean(one.full_name), _LONGEST_FULL_NAME),
        side="" if one.side is None else SIDE_NAMES[one.side],
        label=label,
        why_no_label=one.reasons.get("bottleneck", "null"),
        cells=tuple(_cell(one, *column[1:]) for column in _COLUMNS),
        evidence=tuple(map(evidence, (bound.evidence or ()) if bound is not None else ()))[:_MOST_EVIDENCE],
        advice=tuple(
            f"{step.text}{'' if step.at_most_x is None else f' (at most {quantities.factor(step.at_most_x)})'}"
            for step in ((bound.advice or ()) if bound is not None and advised else ())
        ),
        stalls=_stalls(one),
    )


def _cell(one: KernelLaunch, part: str, field: str, tell: _Tell) -> Cell:
    block: Block | None = getattr(one, part) if part else None
    value = getattr(block or one, field, None)
    if value is not None:
        return Cell(tell(value), _key(value))
    return Cell("", why=one.reasons.get(part or field, "null") if block is None else absent(block, field))


def _key(value: Any) -> str:
    """What a column is sorted by: a number, or the blocks of a grid; text sorts by itself."""
    if isinstance(value, tuple):
        if not all(isinstance(one, int) for one in value):
            return ""
        return str(math.prod(value))
    return f"{value:.6g}"


def _stalls(one: KernelLaunch) -> str:
    top = (one.stalls.top or ()) if one.stalls is not None else ()
    told = [f"{stall.reason} {quantities.percent(stall.share_pct)}" for stall in top if stall.share_pct]
    return ", ".join(told[:_MOST_STALLS])
