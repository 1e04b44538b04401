"""By how much, beyond which noise, and which way is better."""

from __future__ import annotations

import msgspec
import pytest
from compared_reports import by_hand, changed, compared, fused, imported, naive, of, recorded

from kprof.comparison.changes import EXPLAINS, METRICS
from kprof.comparison.changes import compared as compared_values
from kprof.comparison.words import share
from kprof.metrics import describe
from kprof.report import Blocks


def test_every_metric_is_in_the_registry_and_results_have_its_direction() -> None:
    declared = describe(Blocks)
    found = {one.path: one for one in compared(naive(), fused()).changes}
    for path, _ in METRICS:
        assert path in declared, path
        if path in found:
            better = None if path in EXPLAINS else declared[path].better
            assert (found[path].better, found[path].unit) == (better, declared[path].unit)


def test_what_explains_a_kernel_is_neither_better_nor_worse() -> None:
    found = compared(naive(), recorded("cuda_tuned_4x8192x4096"))
    assert {of(found, path).outcome for path in EXPLAINS} == {"changed"}
    assert of(found, "sol.task_score").outcome == "better"


def test_each_metric_has_one_name_and_each_name_one_metric() -> None:
    assert len({label for _, label in METRICS}) == len({path for path, _ in METRICS}) == len(METRICS)


def test_numbers_and_words_of_a_recorded_pair() -> None:
    found = compared(naive(), fused())
    time = of(found, "timing.kernel_us")
    assert (time.outcome, time.noise_pct) == ("better", None)
    assert time.change_pct == pytest.approx(-28.28, abs=0.01)
    assert time.interval_pct is not None
    assert of(found, "roofline.dram_bandwidth_gbs").outcome == "better"
    assert of(found, "roofline.dram_bytes").outcome == "within_noise"
    assert of(found, "occupancy.registers_per_thread").outcome == "same"
    family = of(found, "bottleneck.family")
    assert (family.a, family.b, family.outcome, family.change_pct) == ("compute", "memory", "changed", None)
    assert of(found, "stalls.long_scoreboard.share_pct").outcome == "changed"


def test_a_null_says_why_and_two_nulls_are_no_row() -> None:
    found = compared(by_hand(), by_hand("without_ref"), force=True)
    speedup = of(found, "timing.speedup")
    assert (speedup.b, speedup.reason_b, speedup.reason_a, speedup.outcome) == (None, "no_reference", None, "unknown")
    assert speedup.change_pct is None
    assert not any(one.a is None and one.b is None for one in found.changes)
    assert all((one.a is None) == (one.reason_a is not None) for one in found.changes)
    assert all((one.b is None) == (one.reason_b is not None) for one in found.changes)


def test_the_same_kernels_profiled_twice_differ_by_their_noise_alone() -> None:
    """The nine kernels of the reference are in both recorded runs: real repetitions."""
    of_ref = [one for one in compared(naive(), fused()).matched if one.a.side == "ref"]
    assert sum(one.a.launches for one in of_ref) == 9
    for match in of_ref:
        assert {one.outcome for one in match.changes} <= {"same", "within_noise"}, match.a.name


@pytest.mark.parametrize(
    ("a", "b", "noise", "outcome"),
    [
        (100.0, 103.0, 4.0, "within_noise"),
        (100.0, 110.0, 4.0, "worse"),
        (100.0, 90.0, 4.0, "better"),
        (100.0, 100.0, 0.0, "same"),
        (0.0, 5.0, 4.0, "worse"),
        (0.0, 0.0, 4.0, "same"),
        (None, 5.0, 4.0, "unknown"),
        ("dram", "l2", 0.0, "changed"),
        (True, False, 0.0, "better"),
    ],
)
def test_outcomes(a: float | str | None, b: float | str, noise: float, outcome: str) -> None:
    made = compared_values(("x", "x", "us", "lower"), (a, b), noise_pct=noise)
    assert made.outcome == outcome


def test_short_kernels_have_a_wider_border() -> None:
    report = imported()
    short = changed(report, blocks__roofline__profiled_us=2.0)
    busier = changed(short, blocks__sol__issue_util_pct=(report.blocks.sol.issue_util_pct or 0) * 1.1)
    assert of(compared(short, busier), "sol.issue_util_pct").outcome == "within_noise"
    longer = changed(busier, blocks__roofline__profiled_us=200.0)
    assert of(compared(changed(short, blocks__roofline__profiled_us=200.0), longer), "sol.issue_util_pct").outcome == (
        "changed"
    )


def test_tensor_types_that_one_side_does_not_use_count_as_0() -> None:
    report = imported()
    rates = dict(report.blocks.roofline.tensor_tflops or {})
    other = changed(report, blocks__roofline__tensor_tflops={**rates, "fp8": 100.0})
    fp8 = of(compared(report, other), "roofline.tensor_tflops.fp8")
    assert (fp8.a, fp8.b, fp8.outcome) == (0.0, 100.0, "changed")


@pytest.mark.parametrize(
    ("pct", "words"),
    [(0.0, "no change"), (-48.0, "-48 %"), (38.61, "+38.6 %"), (-99.0, "1/100"), (-100.0, "to 0"), (1400.0, "15x")],
)
def test_words(pct: float, words: str) -> None:
    assert share(pct) == words


def test_it_is_strict_json_with_a_version() -> None:
    plain = msgspec.to_builtins(compared(naive(), fused()))
    assert plain["comparison_version"] == 1
    assert list(plain) == [
        "comparison_version", "kprof_version", "a", "b", "comparable", "forced", "differences", "verdict",
        "explanations", "changes", "matched", "added", "removed",
    ]  # fmt: skip
