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


def test_equal_kernels_pass_and_slower_ones_are_caught() -> None:
    recorded_runs = ab_judge.load(RECORDED)
    results = {
        name: ab_judge.judge_size(name, kinds["plain"], kinds["slowed"]) for name, kinds in recorded_runs.items()
    }
    assert list(results) == ["tiny", "medium", "large"]
    assert all(one.reports >= 12 for one in results.values())
    assert sum(one.pairs for one in results.values()) >= 198
    assert sum(one.false_alarms for one in results.values()) <= 2
    for one in results.values():
        assert one.caught == one.slowed_pairs > 0, one
    tiny, medium, large = results.values()
    for one in (medium, large):
        assert one.kernel_us >= 10.0
        assert one.mde_pct[1] <= 1.5
        assert one.found[1.5] >= 0.85
        assert one.found[2.0] == 1.0
    # 5 % of 2 us are 0.1 us, and 7 % of the 1.44 us that this kernel takes.
    assert tiny.mde_pct[1] / 100.0 * tiny.kernel_us <= 0.1
    assert tiny.found[7.0] >= 0.9
