"""Every recorded kernel gets the label that is true of it, whatever part of its counters there is."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from functools import cache

import msgspec
import pytest
from ncu_data import DATA, allowed, keeping, profile, recorded, truths

from kprof.bottleneck.classify import classify
from kprof.bottleneck.verdict import Verdict
from kprof.collectors.ncu_run.request import default_request
from kprof.collectors.ncu_run.tool import parse_metrics
from kprof.counter_evidence import ProfiledLaunch

CASES = [
    pytest.param(file, launch, id=f"{file}:{launch.launch_id}")
    for file in ("probes", "library-kernels")
    for launch in recorded(f"{file}.raw.csv").launches
]


def label(launch: ProfiledLaunch) -> Verdict:
    return classify(profile(launch))


def is_right(file: str, launch: ProfiledLaunch, verdict: Verdict) -> bool:
    right = allowed(truths()[file, launch.launch_id])
    if verdict.family not in right:
        return False
    return not right[verdict.family] or verdict.limiter in right[verdict.family]


def no_throughput(name: str) -> bool:
    return "__throughput" not in name and "_throughput." not in name


def live_list_only(name: str) -> bool:
    """The metrics that kprof's own run asks an ncu for on this chip; ncu adds what it knows of device and launch."""
    return name in _asked() or name.startswith(("device__", "launch__", "smsp__pcsamp_"))


@cache
def _asked() -> frozenset[str]:
    known = frozenset(parse_metrics(gzip.decompress((DATA / "query_metrics_gh100.txt.gz").read_bytes()).decode()))
    return frozenset(default_request(known).metrics)


@pytest.mark.parametrize(("file", "launch"), CASES)
@pytest.mark.parametrize("keep", [None, no_throughput, live_list_only])
def test_label_is_the_truth(file: str, launch: ProfiledLaunch, keep: Callable[[str], bool] | None) -> None:
    verdict = label(keeping(launch, keep) if keep else launch)
    assert is_right(file, launch, verdict), verdict
    assert verdict.proofs
    assert verdict.steps


@pytest.mark.parametrize(("file", "launch"), CASES)
def test_no_label_flips_by_one_percent_unless_the_runner_up_is_named(file: str, launch: ProfiledLaunch) -> None:
    before = label(launch)
    draw = random.Random(launch.launch_id)
    for _ in range(40):
        moved = {
            name: value * draw.choice((0.99, 1.0, 1.01)) if isinstance(value, float) and "%" not in name else value
            for name, value in launch.metrics.items()
            if not (isinstance(value, float) and name.startswith(("launch__", "device__")))
        }
        fixed = {n: v for n, v in launch.metrics.items() if n.startswith(("launch__", "device__"))}
        after = label(msgspec.structs.replace(launch, metrics={**moved, **fixed}))
        flipped = after.label if after.family == before.family else after.family
        assert after.label == before.label or (before.near_border or "").startswith(flipped.split("/")[0]), (
            before,
            after,
        )


def is_named(runner_up: str | None, verdict: Verdict) -> bool:
    """The runner-up of one verdict is the other: by its family alone, where the limiter was not in question."""
    return runner_up in (verdict.label, verdict.family)


def test_the_two_formats_give_the_same_labels() -> None:
    from_csv = [label(one).label for one in recorded("probes.raw.csv").launches]
    from_report = [label(one).label for one in recorded("probes.ncu-rep").launches]
    assert from_csv == from_report


@pytest.mark.parametrize(("file", "launch"), CASES)
def test_any_counter_may_be_missing(file: str, launch: ProfiledLaunch) -> None:
    names = list(launch.metrics)
    draw = random.Random(1000 + launch.launch_id)
    for kept_share in (0.0, 0.1, 0.3, 0.6, 0.9):
        kept = {name for name in names if draw.random() < kept_share}
        verdict = label(keeping(launch, kept.__contains__))
        if verdict.family == "unknown":
            assert verdict.missing
