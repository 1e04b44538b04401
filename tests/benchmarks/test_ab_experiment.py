"""The experiment on equal kernels: what was recorded on an H200 still says what is claimed of it."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest
from gate_reports import recorded, slowed

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
RECORDED = [BENCHMARKS / "ab" / f"h200-{run}.json.gz" for run in (1, 2)]
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
    plain, slower = kept(recorded("large")), kept(slowed(recorded("large"), 1.015))
    result = ab_judge.judge_size("large", {"0": [plain] * 4, "90": [slower] * 2, "80": []})
    assert (result.pairs, result.false_alarms, result.suspect) == (6, 0, 0)
    ((cycles, by_pct, pairs, caught),) = result.slowed
    assert (cycles, pairs, caught) == (90, 8, 8)
    assert by_pct == pytest.approx(1.5)
    wild = [kept(slowed(recorded("large"), factor)) for factor in (1.0, 1.1, 1.0, 1.1)]
    falling = sum(later > earlier for earlier, later in itertools.combinations((1.0, 1.1, 1.0, 1.1), 2))
    assert ab_judge.judge_size("large", {"0": wild}).false_alarms == falling == 3


def test_suspect_reports_are_left_out_and_counted() -> None:
    plain, suspect = kept(recorded("large")), kept(recorded("large"))
    suspect["blocks"]["timing"]["status"] = "suspect"
    result = ab_judge.judge_size("large", {"0": [plain, suspect, plain]})
    assert (result.reports, result.pairs, result.suspect) == (2, 1, 1)


def test_only_the_delay_tells_the_kernels_apart(tmp_path: Path) -> None:
    kernels = ab_record._kernels(tmp_path, ab_record.ON_GPU, on_cpu=False)
    plain = kernels[0].read_text()
    assert "\nDELAY_CYCLES = 0\n" in plain
    assert set(kernels) == {0, *(cycles for size in ab_record.ON_GPU for cycles in size.delays)}
    for cycles, file in kernels.items():
        assert plain.replace("DELAY_CYCLES = 0\n", f"DELAY_CYCLES = {cycles}\n") == file.read_text()


def test_all_reports_of_a_size_are_due_in_some_round() -> None:
    due = [one for turn in range(ab_record.ROUNDS) for one in ab_record._due(ab_record.ON_GPU, turn)]
    for size in ab_record.ON_GPU:
        assert due.count((size, 0)) == size.plain
        assert all(due.count((size, cycles)) == size.slowed for cycles in size.delays)


@pytest.fixture(scope="module")
def results() -> list[dict[str, ab_judge.SizeResult]]:
    return [
        {name: ab_judge.judge_size(name, by_cycles) for name, by_cycles in ab_judge.load(run).items()}
        for run in RECORDED
    ]


def test_equal_kernels_pass(results: list[dict[str, ab_judge.SizeResult]]) -> None:
    first, second = results
    assert [list(run) for run in results] == [["tiny", "medium", "large"], ["tiny", "short", "medium", "large"]]
    assert all(one.reports >= 12 for one in first.values())
    assert sum(one.pairs for one in first.values()) >= 198
    assert sum(one.pairs for one in second.values()) >= 150
    assert sum(one.false_alarms for run in results for one in run.values()) <= 2


def test_slower_ones_are_caught(results: list[dict[str, ab_judge.SizeResult]]) -> None:
    """The kernel was slowed on the device, by about the least size that the gates promise to find."""
    first, second = results
    assert all(slow.caught == slow.pairs > 0 for one in first.values() for slow in one.slowed)
    shares = {
        (name, round(slow.by_pct, 1)): slow.caught / slow.pairs for name, one in second.items() for slow in one.slowed
    }
    assert list(shares) == [
        ("tiny", 7.0), ("short", 4.7), ("short", 6.2), ("medium", 1.2), ("medium", 1.6), ("large", 1.6), ("large", 2.4),
    ]  # fmt: skip
    assert all(share >= 0.7 for share in shares.values())
    assert all(share >= 0.95 for (_, by_pct), share in shares.items() if by_pct not in (1.2, 4.7))


def test_the_least_size_that_is_promised_is_small_and_is_found(
    results: list[dict[str, ab_judge.SizeResult]],
) -> None:
    for run in results:
        for one in (run["medium"], run["large"]):
            assert one.kernel_us >= 10.0
            assert one.mde_pct[1] <= 1.5
            assert one.found[1.5] >= 0.8
            assert one.found[2.0] == 1.0
        assert run["tiny"].found[7.0] >= 0.7
    short = results[1]["short"]
    assert short.kernel_us == pytest.approx(2.05, abs=0.05)
    assert short.mde_pct[1] <= 5.0
    assert short.found[5.0] >= 0.8
