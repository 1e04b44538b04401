"""The experiment on equal kernels: what was recorded on an H200 still says what is claimed of it."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest
from gate_reports import recorded, slowed

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
RECORDED = BENCHMARKS / "ab" / "h200.json.gz"
sys.path.insert(0, str(BENCHMARKS))

import ab_judge  # noqa: E402
import ab_record  # noqa: E402

LEAST_FOUND_PCT = {"tiny": 5.0, "medium": 1.5, "large": 1.5}


def kept(report: dict[str, Any]) -> Any:
    return ab_record._kept(report)


def test_what_is_kept_of_a_report_is_judged_as_the_whole_would_be() -> None:
    whole = recorded("large")
    for factor in (1.0, 1.02):
        slim, full = (
            ab_judge.verdict(kept(slowed(whole, factor)), kept(whole)),
            ab_judge.verdict(slowed(whole, factor), whole),
        )
        assert (slim.verdict, slim.code) == (full.verdict, full.code)
        assert slim.mde_pct == pytest.approx(full.mde_pct, rel=1e-3)


def test_pairs_are_counted() -> None:
    plain = [kept(recorded("large"))] * 4
    result = ab_judge.judge_size("large", plain, [kept(slowed(recorded("large"), 1.015))] * 2)
    assert (result.pairs, result.false_alarms, result.slowed_pairs, result.caught) == (6, 0, 8, 8)
    assert result.slowed_by_pct == pytest.approx(1.5)
    wild = [kept(slowed(recorded("large"), factor)) for factor in (1.0, 1.1, 1.0, 1.1)]
    falling = sum(later > earlier for earlier, later in itertools.combinations((1.0, 1.1, 1.0, 1.1), 2))
    assert ab_judge.judge_size("large", wild, []).false_alarms == falling == 3


def test_only_the_delay_tells_the_kernels_apart(tmp_path: Path) -> None:
    kernels = ab_record._kernels(tmp_path, ab_record.ON_GPU, on_cpu=False)
    for size, files in kernels.items():
        plain, slower = (files[kind].read_text() for kind in ("plain", "slowed"))
        assert "\nDELAY_CYCLES = 0\n" in plain
        assert plain.replace("DELAY_CYCLES = 0\n", f"DELAY_CYCLES = {size.delay_cycles}\n") == slower


@pytest.mark.skipif(
    not RECORDED.exists(), reason="benchmarks/ab/h200.json.gz is not there: run benchmarks/ab_record.py"
)
def test_equal_kernels_pass_and_slower_ones_are_caught() -> None:
    results = [
        ab_judge.judge_size(name, kinds["plain"], kinds["slowed"]) for name, kinds in ab_judge.load(RECORDED).items()
    ]
    assert [(one.name, one.reports, one.pairs) for one in results] == [(name, 12, 66) for name in LEAST_FOUND_PCT]
    assert sum(one.false_alarms for one in results) <= 2
    for one in results:
        assert one.mde_pct[1] <= LEAST_FOUND_PCT[one.name], one
        assert one.caught >= 0.8 * one.slowed_pairs > 0, one
