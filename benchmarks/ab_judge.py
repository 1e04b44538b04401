"""Judge the pairs that ``benchmarks/ab_record.py`` recorded: false alarms, least regression found, slow-downs caught.

    python benchmarks/ab_judge.py benchmarks/ab/h200-1.json.gz

Every two plain reports of a size are compared, the later one against the earlier one, at the default tolerance: each
``fail`` is a false alarm. Every slowed report is compared with every plain one: each ``fail`` is a slow-down caught.
How much slower a slowed kernel really is comes from the medians of all its reports. For slow-downs of other sizes all
samples of one plain report are multiplied by a factor, and it is compared with each other plain one, both ways round.
Reports that say ``suspect`` of their times are left out, and counted: a gate on them is inconclusive.
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


class Slowed(NamedTuple):
    """What came of one delay."""

    cycles: int
    by_pct: float
    """Median of its reports over that of the plain ones."""
    pairs: int
    caught: int


class SizeResult(NamedTuple):
    """What the pairs of one size say."""

    name: str
    reports: int
    """Plain ones that are ``ok``."""
    suspect: int
    """Reports of any delay that are not."""
    kernel_us: float
    spread_pct: float
    """Largest less smallest median of the plain reports."""
    pairs: int
    false_alarms: int
    mde_pct: tuple[float, float]
    """Smallest and largest of all pairs."""
    slowed: tuple[Slowed, ...]
    found: dict[float, float]
    """Share of pairs that fail when all samples of the later report are multiplied by 1 and so many percent."""


def load(path: Path) -> dict[str, dict[str, list[Any]]]:
    """The recorded reports, by size and by the cycles of the delay: ``0`` is the kernel as it is."""
    recorded: dict[str, dict[str, list[Any]]] = json.loads(gzip.decompress(path.read_bytes()))["reports"]
    return recorded


def verdict(report: Any, baseline: Any) -> Verdict:
    """The default gate on two reports."""
    return judge(default_plan(), report, baseline)[0]


def judge_size(name: str, by_cycles: dict[str, list[Any]]) -> SizeResult:
    """Compare all pairs of one size."""
    usable = {key: [one for one in some if _status(one) == "ok"] for key, some in by_cycles.items()}
    plain = usable["0"]
    equal = [verdict(later, earlier) for earlier, later in itertools.combinations(plain, 2)]
    times = [_kernel_us(one) for one in plain]
    middle = statistics.median(times)
    found = [one.mde_pct for one in equal if one.mde_pct is not None]
    return SizeResult(
        name=name,
        reports=len(plain),
        suspect=sum(len(by_cycles[key]) - len(some) for key, some in usable.items()),
        kernel_us=middle,
        spread_pct=100.0 * (max(times) - min(times)) / middle,
        pairs=len(equal),
        false_alarms=sum(one.verdict == "fail" for one in equal),
        mde_pct=(min(found), max(found)),
        slowed=tuple(_slowed(int(key), some, plain) for key, some in usable.items() if key != "0" and some),
        found={percent: _found(plain, 1.0 + percent / 100.0) for percent in SCALED_PCT},
    )


def _status(report: Any) -> str:
    return str(report["blocks"]["timing"]["status"])


def _kernel_us(report: Any) -> float:
    return float(report["blocks"]["timing"]["kernel_us"])


def _slowed(cycles: int, slowed: list[Any], plain: list[Any]) -> Slowed:
    verdicts = [verdict(one, other) for one in slowed for other in plain]
    ratio = statistics.median(map(_kernel_us, slowed)) / statistics.median(map(_kernel_us, plain))
    return Slowed(cycles, 100.0 * (ratio - 1.0), len(verdicts), sum(one.verdict == "fail" for one in verdicts))


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
    """Print what came of each size."""
    recorded = load(Path(sys.argv[1]))
    print("size     reports  median us  spread %  pairs  false alarms   mde %      suspect")
    for name, by_cycles in recorded.items():
        one = judge_size(name, by_cycles)
        print(
            f"{one.name:8} {one.reports:7} {one.kernel_us:10.3f} {one.spread_pct:9.2f} {one.pairs:6} "
            f"{one.false_alarms:13}   {one.mde_pct[0]:.2f}-{one.mde_pct[1]:.2f} {one.suspect:10}"
        )
        for slow in one.slowed:
            print(f"         {slow.cycles} cycles: slower by {slow.by_pct:.2f} %, caught in {slow.caught}/{slow.pairs}")
        shares = ", ".join(f"{percent:g} % {100 * share:.0f}" for percent, share in one.found.items())
        print(f"         samples multiplied, found in percent of {one.reports * (one.reports - 1)} pairs: {shares}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
