"""Metrics that come in families: warp states and the operations of tensor cores, one name a member."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

STALL_REASONS: Final = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle", "long_scoreboard",
    "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected",
    "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
"""Warp states in the spelling of the aggregate metrics."""
MAIN_STATES: Final = frozenset(
    {
        "barrier", "lg_throttle", "long_scoreboard", "math_pipe_throttle", "mio_throttle", "no_instruction",
        "not_selected", "selected", "short_scoreboard", "wait",
    }
)  # fmt: skip
"""States without which a sum is no sum of all: every architecture from Volta on has them."""
BENIGN_STATES: Final = frozenset({"selected", "not_selected"})
"""States of a warp that could issue: no stalls."""
SAMPLES_GROUP: Final = "group:smsp__pcsamp_warp_stall_reasons"
"""What ncu calls all sampled warp states together."""

_SPELLINGS: Final = {"no_instructions": "no_instruction", "warpgroup_arrive": "gmma"}
"""Samples spell some states otherwise."""
_CYCLES: Final = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.(ratio|pct)")
_SHARE: Final = re.compile(r"smsp__warp_issue_stalled_(\w+)_per_warp_active\.pct")
_SAMPLES: Final = re.compile(r"smsp__pcsamp_warps_issue_stalled_(\w+?)(?<!_not_issued)")
_TENSOR: Final = re.compile(
    r"sm__ops_path_tensor(?:_op_(?P<op>[a-z]+))?_src_(?P<src>[a-z0-9_]+?)"
    r"(?:_dst_(?P<dst>[a-z0-9]+))?(?:_sparsity_(?P<sparsity>on|off))?\.sum"
)


class TensorName(NamedTuple):
    """The parts of the name of a counter of tensor operations."""

    full: str
    op: str | None
    src: str
    dst: str | None
    sparsity: str | None


@cache
def is_family_member(name: str) -> bool:
    """The metric belongs to one of the families."""
    return any(pattern.fullmatch(name) for pattern in (_CYCLES, _SHARE, _SAMPLES, _TENSOR))


@cache
def _cycles_of(name: str) -> tuple[str, float] | None:
    """State and factor to cycles per instruction: ``.pct`` is the ratio times 100, and no share."""
    match = _CYCLES.fullmatch(name)
    return (match[1], 1.0 if match[2] == "ratio" else 0.01) if match else None


@cache
def _share_of(name: str) -> str | None:
    match = _SHARE.fullmatch(name)
    return match[1] if match else None


@cache
def _sampled(name: str) -> str | None:
    match = _SAMPLES.fullmatch(name)
    return _SPELLINGS.get(match[1], match[1]) if match else None


def is_stall_sample(name: str) -> bool:
    """The metric counts samples of one warp state."""
    return _sampled(name) is not None


@cache
def tensor_name(name: str) -> TensorName | None:
    """The metric's parts, where it is a sum of tensor operations."""
    match = _TENSOR.fullmatch(name)
    return TensorName(name, match["op"], match["src"], match["dst"], match["sparsity"]) if match else None


@cache
def covering(names: tuple[TensorName, ...], level: int = 0) -> tuple[TensorName, ...]:
    """The fewest of the counters of one source type that together count everything.

    A total over one part of the name stands for its parts: over instructions, accumulators, sparsity, in that order.
    """
    fields = ("op", "dst", "sparsity")
    if level == len(fields):
        return names
    groups: dict[str | None, list[TensorName]] = {}
    for name in names:
        groups.setdefault(getattr(name, fields[level]), []).append(name)
    if None in groups:
        return covering(tuple(groups[None]), level + 1)
    return tuple(name for group in groups.values() for name in covering(tuple(group), level + 1))


def stall_cycles(metrics: Mapping[str, float | str], warp_cycles: float | None) -> dict[str, float]:
    """Cycles in each warp state per issued instruction.

    Args:
        metrics: of one launch.
        warp_cycles: warp cycles per issued instruction, which turn shares (older names) into cycles.
    """
    found: dict[str, float] = {}
    for name, value in metrics.items():
        state = _cycles_of(name)
        if state is not None and isinstance(value, float) and state[0] not in found:
            found[state[0]] = value * state[1]
    if found or warp_cycles is None:
        return found
    shares = ((_share_of(name), value) for name, value in metrics.items())
    return {state: value / 100 * warp_cycles for state, value in shares if state and isinstance(value, float)}


def stall_samples(metrics: Mapping[str, float | str]) -> dict[str, float]:
    """Samples in each warp state, in the spelling of the aggregates."""
    sampled = ((_sampled(name), value) for name, value in metrics.items())
    return {state: value for state, value in sampled if state and isinstance(value, float)}


def tensor_flop(metrics: Mapping[str, float | str]) -> dict[str, float]:
    """Operations of the tensor cores by source type, a multiply and an add counted apart. Empty: none was collected.

    A total over instructions, accumulators and sparsity is taken where there is one; its parts are added up elsewhere.
    """
    counted = {parts: value for name, value in metrics.items() if (parts := tensor_name(name)) and type(value) is float}
    by_source: dict[str, list[TensorName]] = {}
    for name in counted:
        by_source.setdefault(name.src, []).append(name)
    return {src: sum(counted[name] for name in covering(tuple(group))) for src, group in by_source.items()}
