"""Which metrics ncu is asked for, by name, from the one table of quantities and from what this ncu knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from kprof.counters.families import SAMPLES_GROUP, STALL_REASONS, covering, tensor_name
from kprof.counters.quantities import table

Purpose = Literal["default", "full", "tensor"]

_ALWAYS: Final = ("launch__", "profiler__", "device__", "smsp__pcsamp_", "sm__maximum_warps_", "group:")
"""Beginnings of names that no list of ``--query-metrics`` holds and that ncu takes all the same: seen in reports of
2025.3.1 from an H200."""
_TENSOR_UNASKED: Final = tuple(
    f"sm__ops_path_tensor_src_{operands}{sparsity}"
    for operands in (
        "bf16_dst_fp32", "fp16", "fp16_dst_fp32", "fp16_dst_fp16", "tf32_dst_fp32",
        "fp64", "fp8", "int8", "int4", "int1",
    )
    for sparsity in ("", "_sparsity_off", "_sparsity_on")
)  # fmt: skip
"""Sums from Volta's successors to Blackwell (Nsight Compute's section files), for an ncu that does not tell what it
knows: it leaves out what it does not know, and says nothing of it."""


@dataclass(frozen=True)
class MetricRequest:
    """What one run of ncu collects."""

    purpose: Purpose
    metrics: tuple[str, ...]
    section_set: str | None = None
    """A set of Nsight Compute's own, beside the metrics."""


def knows(known: frozenset[str] | None, metric: str) -> bool:
    """This ncu knows a metric for this chip; true too where it gave no list (``known`` is None)."""
    if known is None or metric.startswith(_ALWAYS):
        return True
    # Some base names have dots of their own (SM_B.TriageCompute.l1tex__t_sectors).
    parts = metric.split(".")
    return any(".".join(parts[:count]) in known for count in range(1, len(parts) + 1))


def default_request(known: frozenset[str] | None) -> MetricRequest:
    """The set that fills every block: for each quantity the first formula all of whose metrics this ncu knows.

    With it come the samples of warp states, one pass where their ratios take six. 10 passes on GH100 (H200, Nsight
    Compute 2025.3.1).

    Args:
        known: base names; None where ncu gave no list.
    """
    return MetricRequest("default", _default_metrics(known))


def tensor_request(known: frozenset[str] | None) -> MetricRequest:
    """Operations of the tensor cores by source type; no metrics where this ncu has none for the chip."""
    return MetricRequest("tensor", _tensor_metrics(known))


def full_request(known: frozenset[str] | None) -> MetricRequest:
    """All that there is: Nsight Compute's set ``full``, the default and tensor metrics, the ratios of warp states."""
    ratios = [f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio" for reason in STALL_REASONS]
    wanted = (*_default_metrics(known), *_tensor_metrics(known), *(name for name in ratios if knows(known, name)))
    return MetricRequest("full", tuple(dict.fromkeys(wanted)), section_set="full")


def _default_metrics(known: frozenset[str] | None) -> tuple[str, ...]:
    wanted: dict[str, None] = {}
    for quantity in table().values():
        if not quantity.asked:
            continue
        for formula in quantity.formulas:
            if all(knows(known, name) for name in formula.names):
                wanted.update(dict.fromkeys(formula.names))
                break
    return (*wanted, SAMPLES_GROUP)


def _tensor_metrics(known: frozenset[str] | None) -> tuple[str, ...]:
    """Per source type the totals, where there are any, else the parts that make them up."""
    stems = _TENSOR_UNASKED if known is None else sorted(known)
    names = [name for stem in stems if (name := tensor_name(f"{stem}.sum")) is not None]
    if known is None:
        return tuple(name.full for name in names)
    sources = dict.fromkeys(name.src for name in names)
    return tuple(name.full for src in sources for name in covering(tuple(one for one in names if one.src == src)))
