"""The launches of a report as CSV: one row a launch, in launch order, and the same columns whatever the report holds.

A column bears the name of the JSON field, the block's name before it, and so its unit; ``kprof schema`` says what it
means. Nulls are empty cells; a block's status and reason code stand beside its numbers.

Names come from outside, and readers of CSV take some text for something else: a spreadsheet runs what begins with
``=``, ``+``, ``-`` or ``@``; pandas reads ``NA`` as missing and ``1e5`` as a number. Such text gets an apostrophe in
front of it, as does text that begins with one: taking one off always gives the name back. Control characters, line
breaks and marks of direction among them, are written as escapes (``\\n``, ``\\x1b``): a row is a line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from kprof.blocks.base import Block
from kprof.blocks.bottleneck import BottleneckBlock
from kprof.blocks.caches import CachesBlock
from kprof.blocks.kernels import KernelLaunch
from kprof.blocks.occupancy import OccupancyBlock
from kprof.blocks.roofline_records import RooflineBlock
from kprof.blocks.sol_records import SolBlock
from kprof.blocks.stalls import StallsBlock
from kprof.counters.families import STALL_REASONS
from kprof.flop import TENSOR_RATES
from kprof.metrics import describe
from kprof.report import Report

_BLOCKS: Final[Mapping[str, type[Block]]] = {
    "sol": SolBlock,
    "roofline": RooflineBlock,
    "occupancy": OccupancyBlock,
    "caches": CachesBlock,
    "stalls": StallsBlock,
    "bottleneck": BottleneckBlock,
}
_OF_THE_WHOLE_TASK: Final = frozenset(
    {"task_score", "floor_us", "floor_bytes", "floor_dram_bytes", "floor_flop", "floor_kind", "headroom",
     "traffic_amplification", "kernel", "time_share_pct"}
)  # fmt: skip
"""Fields of these blocks that no launch alone has."""
_OWN: Final = ("id", "name", "full_name", "side", "device", "launch_id", "process_id")
_AXES: Final = ("x", "y", "z")
_RUN_BY_A_SPREADSHEET: Final = ("=", "+", "-", "@", "'")
_NOT_TEXT: Final = re.compile(
    r"\s*[-+]?(\d[\d_.,]*|\.\d+|\d*\.?\d*e[-+]?\d+|inf|infinity|0x[0-9a-f]+)\s*"
    r"|\s*(#n/a( n/a)?|#na|-?1\.#(ind|qnan)|<na>|n/?a|null|-?nan|none|true|false)\s*|",
    re.IGNORECASE,
)
"""What pandas reads as missing, a number or a truth value without being told to."""


def render(report: Report) -> str:
    """The launches as CSV: a header, one row each, lines that end in ``\\n``."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(columns())
    for launch in report.kernels:
        writer.writerow(map(_cell, _values(launch)))
    return written.getvalue()


@cache
def columns() -> tuple[str, ...]:
    """The names of all columns, in order."""
    extents = [f"{name}_{axis}" for name in ("grid", "block") for axis in _AXES]
    names = [*_OWN, *extents, "duration_us", "duration_source"]
    for name, kind in _BLOCKS.items():
        names += [f"{name}_status", f"{name}_reason_code", *(f"{name}_{field}" for field in _fields(kind))]
        names += _family_columns(name)
    return tuple(names)


@cache
def _fields(kind: type[Block]) -> tuple[str, ...]:
    """The fields of a block that are one value, in the order of the schema."""
    own = [name for name in kind.__struct_fields__ if name not in Block.__struct_fields__]
    hints, declared = get_type_hints(kind), describe(kind)
    scalars = (name for name in own if name in declared and _is_scalar(hints[name]))
    return tuple(name for name in scalars if name not in _OF_THE_WHOLE_TASK)


def _is_scalar(hint: Any) -> bool:
    """A number, a text or one of some texts; or null."""
    return any(one in (float, int, str) or get_origin(one) is Literal for one in get_args(hint))


def _family_columns(name: str) -> list[str]:
    """Of what has one value a member: tensor types and warp states."""
    if name == "roofline":
        return [f"{name}_tensor_tflops_{kind}" for kind in TENSOR_RATES]
    return [f"{name}_share_pct_{state}" for state in STALL_REASONS] if name == "stalls" else []


def _values(launch: KernelLaunch) -> Iterator[Any]:
    for name in _OWN:
        yield getattr(launch, name)
    for extent in (launch.grid, launch.block):
        yield from extent if extent is not None else (None, None, None)
    yield launch.duration_us
    yield launch.duration_source
    for name, kind in _BLOCKS.items():
        block: Block | None = getattr(launch, name)
        yield None if block is None else block.status
        yield launch.reasons.get(name) if block is None else block.reason.code if block.reason is not None else None
        yield from (None if block is None else getattr(block, field) for field in _fields(kind))
        yield from _family_values(block) if block is not None else (None,) * len(_family_columns(name))


def _family_values(block: Block) -> Iterator[float | None]:
    if isinstance(block, RooflineBlock):
        rates = block.tensor_tflops
        # What the report leaves out did nothing; where there is no map, nobody counted.
        yield from (None if rates is None else rates.get(kind, 0.0) for kind in TENSOR_RATES)
    if isinstance(block, StallsBlock):
        shares = {one.reason: one.share_pct for one in block.all or ()}
        yield from (shares.get(state) for state in STALL_REASONS)


def _cell(value: Any) -> str:
    """One value. Numbers are written in full; see the module for text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value)
    text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in value)
    taken_for_another = text.startswith(_RUN_BY_A_SPREADSHEET) or _NOT_TEXT.fullmatch(text)
    return f"'{text}" if taken_for_another else text
