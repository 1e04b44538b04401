"""Judge the pairs that ``benchmarks/ab_record.py`` recorded: false alarms, least regression found, slow-downs caught.

    python benchmarks/ab_judge.py benchmarks/ab/h200.json.gz

Every two plain reports of a size are compared, the later one against the earlier one, at the default tolerance: each
``fail`` is a false alarm. Every slowed report is compared with every plain one: each ``fail`` is a slow-down caught.
How much slower the slowed kernel really is comes from the medians of all its reports. For slow-downs of other sizes all
samples of one plain report are multiplied by a factor, and it is compared with each other plain one, both ways round.
"""

from __future__ import annotations

import gzip
import itertools
import json
import statistics
import sys
from pathlib import Path
from typing import Any, NamedTuple

from kprof.gates.judge import judge
from kprof.gates.plan import default_plan
from kprof.verdicts import Verdict

SCALED_PCT = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)


class SizeResult(NamedTuple):
    """What the pairs of one size say."""

    name: str
    reports: int
    kernel_us: float
    spread_pct: float
    """Largest less smallest median of the plain reports."""
    pairs: int
    false_alarms: int
    mde_pct: tuple[float, float]
    """Smallest and largest of all pairs."""
    slowed_by_pct: float | None
    slowed_pairs: int
    caught: int
    found: dict[float, float]
    """Share of pairs that fail when all samples of the later report are multiplied by 1 and so many percent."""


def load(path: Path) -> dict[str, dict[str, list[Any]]]:
    """The recorded reports, by size and kind."""
    recorded: dict[str, dict[str, list[Any]]] = json.loads(gzip.decompress(path.read_bytes()))["reports"]
    return recorded


def verdict(report: Any, baseline: Any) -> Verdict:
    """The default gate on two reports."""
    return judge(default_plan(), report, baseline)[0]


def judge_size(name: str, plain: list[Any], slowed: list[Any]) -> SizeResult:
    """Compare all pairs of one size."""
    equal = [verdict(later, earlier) for earlier, later in itertools.combinations(plain, 2)]
    slower = [verdict(one, other) for one in slowed for other in plain]
    times, slowed_times = ([one["blocks"]["timing"]["kernel_us"] for one in reports] for reports in (plain, slowed))
    middle = statistics.median(times)
    found = [one.mde_pct for one in equal if one.mde_pct is not None]
    return SizeResult(
        name=name,
        reports=len(plain),
        kernel_us=middle,
        spread_pct=100.0 * (max(times) - min(times)) / middle,
        pairs=len(equal),
        false_alarms=sum(one.verdict == "fail" for one in equal),
        mde_pct=(min(found), max(found)),
        slowed_by_pct=100.0 * (statistics.median(slowed_times) / middle - 1.0) if slowed else None,
        slowed_pairs=len(slower),
        caught=sum(one.verdict == "fail" for one in slower),
        found={percent: _found(plain, 1.0 + percent / 100.0) for percent in SCALED_PCT},
    )


def _found(plain: list[Any], factor: float) -> float:
    pairs = list(itertools.permutations(plain, 2))
    return sum(verdict(scaled(one, factor), other).verdict == "fail" for one, other in pairs) / len(pairs)


def scaled(report: Any, factor: float) -> Any:
    """The report of a kernel that takes ``factor`` times as long, sample by sample."""
    timing = report["blocks"]["timing"]
    view = timing["headline_view"]
    sampled = {**timing["samples_us"][view], "kernel": [factor * one for one in timing["samples_us"][view]["kernel"]]}
    changed = {**timing, "kernel_us": factor * timing["kernel_us"], "samples_us": {view: sampled}}
    return {**report, "blocks": {**report["blocks"], "timing": changed}}


def main() -> int:
    """Print a line a size."""
    recorded = load(Path(sys.argv[1]))
    print("size     reports  median us  spread %  pairs  false alarms   mde %      slowed by %  caught")
    for name, kinds in recorded.items():
        one = judge_size(name, kinds["plain"], kinds["slowed"])
        slower = "-" if one.slowed_by_pct is None else f"{one.slowed_by_pct:.2f}"
        mde, caught = f"{one.mde_pct[0]:.2f}-{one.mde_pct[1]:.2f}", f"{one.caught}/{one.slowed_pairs}"
        print(
            f"{one.name:8} {one.reports:7} {one.kernel_us:10.3f} {one.spread_pct:9.2f} {one.pairs:6} "
            f"{one.false_alarms:13}   {mde:10} {slower:>12} {caught:>7}"
        )
        shares = ", ".join(f"{percent:g} % {100 * share:.0f}" for percent, share in one.found.items())
        print(f"         samples multiplied, found in percent of {one.reports * (one.reports - 1)} pairs: {shares}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
