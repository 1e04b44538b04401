"""Is b faster? What bars the question, and what the answer rests on."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from compared_reports import by_hand, changed, compared, fused, imported, naive, recorded, scaled

from kprof.comparison.verdict import verdict
from kprof.gates.plausible import in_words
from kprof.report import Report


def test_a_report_against_itself_is_the_same() -> None:
    for report in (naive(), by_hand(), by_hand("cpu"), imported()):
        found = compared(report, report)
        assert found.differences == ()
        assert found.comparable
        assert found.verdict.code in ("within_noise", "no_time")
        assert {one.outcome for one in found.changes} <= {"same", "unknown"}
        assert (found.added, found.removed) == ((), ())


def test_two_kernels_of_one_task() -> None:
    found = compared(naive(), fused())
    assert found.verdict.code == "faster"
    assert found.verdict.speedup == pytest.approx(228.512 / 163.888, rel=1e-5)
    assert found.verdict.speedup_interval is not None
    low, high = found.verdict.speedup_interval
    assert low < found.verdict.speedup < high  # type: ignore[operator]
    assert found.verdict.confidence == 0.95
    back = compared(fused(), naive())
    assert back.verdict.code == "slower"
    assert back.verdict.speedup == pytest.approx(1 / found.verdict.speedup)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("factor", "code"), [(1.001, "within_noise"), (0.999, "within_noise"), (1.05, "slower"), (0.95, "faster")]
)
def test_only_what_is_beyond_the_noise_counts(factor: float, code: str) -> None:
    assert compared(naive(), scaled(naive(), factor)).verdict.code == code


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("shapes", {"workload__inputs": ()}),
        ("dtypes", {"workload__inputs": None}),
        ("seed", {"workload__seed": 7}),
        ("overrides", {"workload__overrides": {"R": 3}}),
        ("ref_sha256", {"workload__ref_sha256": "f" * 64}),
        ("ref_mode", {"workload__ref_mode": "compile"}),
        ("board", {"environment__device_name": "NVIDIA H100 80GB HBM3"}),
        ("sm_clock", {"blocks__timing__sm_clock_mhz": 1755.0}),
        ("headline_cache", {"blocks__timing__headline_cache": "warm"}),
    ],
)
def test_another_task_board_or_clock_bars_the_verdict(name: str, values: dict[str, Any]) -> None:
    if name == "dtypes":
        values = {"workload__inputs": (msgspec.structs.replace(fused().workload.inputs[0], dtype="bfloat16"),)}
    other = changed(fused(), **values)
    found = compared(naive(), other)
    barring = [one.name for one in found.differences if one.bars_verdict]
    assert name in barring
    assert found.differences[0].bars_verdict, "what bars is said first"
    assert not found.comparable
    assert found.verdict.code == "not_comparable"
    assert name in found.verdict.text
    assert (found.verdict.speedup, found.verdict.speedup_interval) == (None, None)
    assert not {"better", "worse"} & {one.outcome for one in found.changes}
    forced = compared(naive(), other, force=True)
    assert forced.verdict.code == "faster"
    assert any("forced" in doubt and name in doubt for doubt in forced.verdict.doubts)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("torch", {"environment__torch": "2.9.0"}),
        ("driver", {"environment__driver": "600.1"}),
        ("cuda", {"environment__cuda": "12.4"}),
        ("entry", {"workload__entry": "Other"}),
        ("gpu_uuid", {"environment__gpu_uuid": "GPU-0"}),
        ("ncu_clock_control", {"counters__clock_control": "base"}),
    ],
)
def test_other_software_is_said_and_bars_nothing(name: str, values: dict[str, Any]) -> None:
    found = compared(naive(), changed(fused(), **values))
    assert [(one.name, one.bars_verdict) for one in found.differences] == [(name, False)]
    assert found.verdict.code == "faster"


def test_what_only_one_side_knows_is_no_difference_unless_it_names_the_task() -> None:
    assert compared(naive(), changed(fused(), environment__driver=None)).differences == ()
    found = compared(naive(), changed(fused(), workload__ref_sha256=None))
    assert [one.name for one in found.differences] == ["ref_sha256"]
    assert found.verdict.code == "not_comparable"


def test_a_wrong_result_wins_nothing() -> None:
    wrong = by_hand("wrong")
    for a, b, which in ((by_hand(), wrong, "b"), (wrong, by_hand(), "a")):
        found = compared(a, b)
        assert found.verdict.code == "wrong_result"
        assert found.verdict.text.startswith(f"{which}: ")
        assert found.verdict.speedup is None
    assert compared(by_hand(), wrong, force=True).verdict.code == "wrong_result"


def test_a_time_under_the_floor_is_not_believed() -> None:
    fast: Report = scaled(naive(), 0.2)
    found = compared(naive(), fast)
    assert found.verdict.code == "implausible"
    assert any("floor" in doubt for doubt in found.verdict.doubts)


def test_what_casts_doubt_is_said() -> None:
    other = changed(by_hand("timing_hang"), faults=())
    doubts = compared(by_hand(), other).verdict.doubts
    assert any("the time of b is not to be trusted" in doubt for doubt in doubts)
    forced = compared(naive(), recorded("cuda_naive_4x10x32"), force=True).verdict.doubts
    assert "the kernels were timed by different timers, which differ by up to 5 %" in forced
    assert any("170x in one step" in doubt for doubt in forced)
    assert not any("baseline" in doubt for doubt in (*doubts, *forced))


def test_without_a_time_there_is_no_verdict_and_the_reason_is_told() -> None:
    assert compared(imported(), imported()).verdict.code == "no_time"
    found = compared(by_hand(), by_hand("build_failure"))
    assert found.verdict.code == "no_time"
    assert "b (build_failed)" in found.verdict.text


@pytest.mark.parametrize("us", [0.0, -1.0, 1e-300])
def test_what_is_no_time_is_neither_faster_nor_slower(us: float) -> None:
    none = changed(naive(), blocks__timing__kernel_us=us)
    for a, b, which in ((naive(), none, "b"), (none, naive(), "a")):
        found = compared(a, b)
        assert (found.verdict.code, found.verdict.speedup) == ("no_time", None)
        assert found.verdict.text.startswith(f"no time of the kernel in {which} (")
        (change,) = [one for one in found.changes if one.path == "timing.kernel_us"]
        assert (change.outcome, change.change_pct) == ("unknown", None)


def test_a_release_of_ncu_is_the_same_however_long_it_is_written() -> None:
    short, long, other = (changed(naive(), environment__ncu=one) for one in ("2025.3.1", "2025.3.1.0", "2025.4.0.0"))
    assert compared(short, long).differences == ()
    assert [one.name for one in compared(short, other).differences] == ["ncu"]


def test_shapes_of_a_recorded_run() -> None:
    found = compared(naive(), recorded("cuda_naive_4x10x32"))
    assert [one.name for one in found.differences if one.bars_verdict] == ["overrides", "shapes"]


def test_times_that_are_not_to_be_trusted_give_no_verdict() -> None:
    suspect = changed(by_hand("timing_hang"), faults=())
    for a, b in ((by_hand(), suspect), (suspect, by_hand()), (suspect, suspect)):
        found = compared(a, b).verdict
        assert (found.code, found.text) == ("untrusted", "the times are not to be trusted")


def test_a_factor_of_millions_can_be_read() -> None:
    assert [in_words(one) for one in (11.04, 2126.0, 8.64e6)] == ["11x", "2,130x", "8,640,000x"]


@pytest.mark.parametrize(("interval", "code"), [((-30.0, 30.0), "within_noise"), ((-99.0, 30.0), "untrusted")])
def test_an_interval_too_wide_to_say_the_same_says_nothing(interval: tuple[float, float], code: str) -> None:
    plain = json.loads(msgspec.json.encode(naive()))
    (time,) = (one for one in compared(naive(), naive()).changes if one.path == "timing.kernel_us")
    wide = msgspec.structs.replace(time, outcome="within_noise", change_pct=-50.0, interval_pct=interval)
    assert verdict(plain, plain, wide, (), forced=False).code == code


def edited(**timing: Any) -> dict[str, Any]:
    """The recorded report as plain values, with other values in its block ``timing``."""
    made: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(naive()))
    made["blocks"]["timing"].update(timing)
    return made


def verdict_on(a: dict[str, Any], b: dict[str, Any]) -> Any:
    return compared(msgspec.convert(a, Report), msgspec.convert(b, Report)).verdict


def test_a_time_that_its_samples_contradict_is_not_to_be_trusted() -> None:
    base, faster = edited(), edited(kernel_us=200.0)
    for a, b, which in ((base, faster, "b"), (faster, base, "a")):
        found = verdict_on(a, b)
        assert found.code == "untrusted"
        assert any(f"the time of {which} is not to be trusted: timing.kernel_us is" in one for one in found.doubts)


def test_samples_and_times_beyond_all_bounds_are_no_error() -> None:
    base = edited()
    timing = base["blocks"]["timing"]
    view = timing["headline_view"]
    wild = {**timing["samples_us"], view: {**timing["samples_us"][view], "kernel": [1e-300, 1e300] * 20}}
    found = verdict_on(base, edited(samples_us=wild))
    assert (found.code, found.speedup_interval) == ("untrusted", None)
    assert verdict_on(edited(kernel_us=1e308), base).code == "no_time"
