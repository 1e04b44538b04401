"""Blocks sol of recorded launches."""

from __future__ import annotations

from typing import Any

from recorded_ncu import changed, h200, probe, profile

from kprof.blocks.sol import sol_block
from kprof.blocks.sol_records import SolBlock
from kprof.counter_profile import Finding
from kprof.counters.quantities import Quantities

COPY = probe("dram_copy")
LARGE = probe("logsumexp_kernel", 1)


def block_of(found: Quantities, *findings: Finding, **changes: Any) -> SolBlock:
    return sol_block(profile(changed(found, **changes), h200(), *findings))


def told(block: SolBlock) -> dict[str, str]:
    return {path: code for path, code in block.reasons.items() if code != "of_the_whole_task"}
