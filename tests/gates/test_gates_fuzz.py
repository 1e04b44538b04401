"""Reports with anything anywhere: a verdict comes out, and what is no number never passes."""

from __future__ import annotations

import random
from typing import Any

import gate_reports
import msgspec
import pytest
from gate_reports import recorded

from kprof.gates.judge import gates_exit_code, judge

JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1e308,
    float("nan"),
    float("inf"),
    "NaN",
    "",
    [],
    {},
    [None],
    {"a": 1},
    [[[]]],
    10**400,
)
PLAN = gate_reports.plan(
    """
thresholds:
  - timing.kernel_us < 1e300
  - timing.speedup_ci95[0] > 0
  - precision.passed == true
  - bottleneck.family != latency
  - kernels[logsumexp_kernel].duration_us > 0
  - kernels[ref:reduce_kernel#1].sol.score >= 0
regressions:
  timing.kernel_us: 3%
  timing.speedup: 3% and 0.1x
  sol.task_score: 5%
  memory.kernel_peak_mb: 1 MB
  kernels[logsumexp_kernel].duration_us: 3%
"""
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a report, and every key or position in it."""
    pairs: list[tuple[Any, Any]] = []
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        pairs.append((value, key))
        pairs += places(value[key])
    return pairs


@pytest.mark.parametrize("seed", range(100))
def test_junk_anywhere_is_judged(seed: int) -> None:
    draw = random.Random(seed)
    reports = recorded(), recorded()
    for report in reports:
        found = places(report)
        for holder, key in draw.sample(found, min(len(found), 40 if seed % 2 else 3)):
            if draw.random() < 0.3 and isinstance(holder, dict):
                holder.pop(key, None)
            elif isinstance(holder, dict) or key < len(holder):
                holder[key] = draw.choice(JUNK)
        for block in draw.sample(sorted(report["blocks"]), 2) if isinstance(report.get("blocks"), dict) else ():
            report["blocks"][block] = draw.choice(JUNK)
    verdicts = judge(PLAN, *reports)
    assert gates_exit_code(verdicts) in (0, 1, 4)
    assert msgspec.json.encode(verdicts)


@pytest.mark.parametrize("junk", JUNK, ids=repr)
@pytest.mark.parametrize("name", ["blocks", "environment", "workload", "kernels", "counters", "faults"])
def test_junk_for_a_whole_part_is_judged(name: str, junk: Any) -> None:
    for report, baseline in (({**recorded(), name: junk}, recorded()), (recorded(), {**recorded(), name: junk})):
        judge(PLAN, report, baseline)
