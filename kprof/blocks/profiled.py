"""What the blocks that are made from hardware counters share: status, doubts, and a block that holds nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import Final, TypeVar

import msgspec

from kprof.blocks.base import Absence, Block, absent_block, finish
from kprof.counter_profile import CounterProfile
from kprof.evidence import Reason

SOURCE: Final = "Nsight Compute counters"
NO_COUNTERS: Final = Reason(
    code="counters_not_available",
    message="the profile holds none of the counters that this block is made from",
    hint="Let kprof collect them, or profile with `ncu --set full`.",
)
B = TypeVar("B", bound=Block)


def finish_profiled(block: B, profile: CounterProfile, quantities: Collection[str], explain: Callable[[str], str]) -> B:
    """The block with its status, its warnings and a reason for every null.

    Args:
        block: as computed, with its own status, reason and warnings.
        profile: what it was computed from.
        quantities: names of the quantities that it shows: a finding about one of them makes it suspect.
        explain: the code for a null, from its dotted path.
    """
    kind = type(block)
    if all(getattr(block, name) is None for name in _fields(kind)):
        absent: B = _without_counters(kind)
        return absent
    findings = profile.findings_on(*quantities) if profile.findings else ()
    if findings:
        first, *others = (finding.reason for finding in findings)
        own = () if block.reason is None else (block.reason,)
        warnings = (*others, *own, *block.warnings)
        block = msgspec.structs.replace(block, status="suspect", reason=first, warnings=warnings)
    return finish(block, explain)


@cache
def _fields(kind: type[Block]) -> tuple[str, ...]:
    """The fields that a kind of block adds to those all blocks have."""
    return tuple(name for name in kind.__struct_fields__ if name not in Block.__struct_fields__)


@cache
def _without_counters(kind: type[B]) -> B:
    return absent_block(kind, Absence(status="unavailable", reason=NO_COUNTERS), SOURCE)
