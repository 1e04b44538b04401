"""Whose call launched a kernel: told by the ranges that kprof's worker opens around its calls.

They are NVTX start/end ranges in the default domain, so launches from any thread carry them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from kprof.evidence import Side

RANGE_OF_SIDE: Final[dict[Side, str]] = {"kernel": "kprof:kernel", "ref": "kprof:ref"}
_SIDE_OF_RANGE: Final = {name: side for side, name in RANGE_OF_SIDE.items()}
SAMPLES_RANGE: Final = "kprof:samples"
"""Open besides, around further calls of a short kernel that are made for more samples of warp states."""
_IN_CELL: Final = re.compile(r'<default domain>:(kprof:(?:kernel|ref|samples))(?=[:"\s]|$)')


def side_of_ranges(names: Iterable[str]) -> Side | None:
    """The side, from the names of the ranges that were open in the default domain; None where none or both say it."""
    sides = {_SIDE_OF_RANGE[name] for name in names if name in _SIDE_OF_RANGE}
    return sides.pop() if len(sides) == 1 else None


def side_of_cell(text: str) -> Side | None:
    """The side, from a cell of ncu's range columns: ``1 "<default domain>:kprof:kernel:none:none"``."""
    return side_of_ranges(_IN_CELL.findall(text)) if text else None


def for_samples(names: Iterable[str]) -> bool:
    """The launch is of a call that was made for samples alone, from the names of the open ranges."""
    return SAMPLES_RANGE in names


def for_samples_in_cell(text: str) -> bool:
    """The same, from a cell of ncu's range columns."""
    return bool(text) and for_samples(_IN_CELL.findall(text))
