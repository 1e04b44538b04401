"""What makes a comparison with a baseline void: another task, another board, another way of measuring."""

from __future__ import annotations

from typing import Any

import pytest
from gate_reports import KERNEL, at, recorded, slowed, verdict

from kprof.gates.regressions import Policy


def test_a_clock_that_fell_is_no_regression() -> None:
    base = recorded("large")
    report = slowed(base, 1.08)
    assert base["blocks"]["timing"]["sm_clock_mhz"] == 1980.0
    report["blocks"]["timing"]["sm_clock_mhz"] = 1980.0 / 1.08
    found = verdict(f"{KERNEL}: 3%", report, base)
    assert (found.verdict, found.code) == ("inconclusive", "clock_differs")
    report["blocks"]["timing"]["sm_clock_mhz"] = 1950.0
    assert verdict(f"{KERNEL}: 3%", report, base).verdict == "fail"


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        ("workload.ref_sha256", "0" * 64, "ref_sha256"),
        ("workload.entry", "Other", "entry"),
        ("workload.seed", 1, "seed"),
        ("workload.overrides", {"R": 8}, "overrides"),
        ("workload.ref_mode", "compile", "ref_mode"),
        ("workload.inputs", [], "shapes"),
        ("workload.inputs", [{"shape": [4, 1024, 1024], "dtype": "float16"}], "dtypes"),
    ],
)
def test_a_baseline_of_another_task(path: str, value: Any, name: str) -> None:
    base = recorded()
    for report, baseline in ((at(base, path, value), base), (base, at(base, path, value))):
        found = verdict(f"{KERNEL}: 3%", report, baseline, Policy(ignored=("driver",)))
        assert (found.verdict, found.code) == ("inconclusive", "other_task")
        assert name in found.message
        assert found.value is not None


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        ("environment.device_name", "NVIDIA A100", "board"),
        ("environment.device_name", None, "board"),
        ("environment.compute_capability", "8.0", "compute_capability"),
        ("environment.memory_bytes", 1, "memory_bytes"),
        ("environment.driver", "1.2", "driver"),
        ("environment.cuda", "1.2", "cuda"),
        ("environment.torch", "1.2", "torch"),
        ("environment.tf32_matmul", True, "tf32_matmul"),
        ("blocks.timing.throttle_reasons", ["applications_clocks_setting"], "clock_policy"),
    ],
)
def test_a_baseline_measured_otherwise(path: str, value: Any, name: str) -> None:
    base = recorded()
    found = verdict(f"{KERNEL}: 3%", base, at(base, path, value))
    assert (found.verdict, found.code) == ("inconclusive", "not_comparable")
    assert name in found.message
    assert f"--ignore-difference {name}" in found.hint
    ignored = verdict(f"{KERNEL}: 3%", base, at(base, path, value), Policy(ignored=(name,)))
    assert ignored.verdict == "pass"
    assert "difference_ignored" in [one.code for one in ignored.warnings]


def test_the_kernel_its_file_and_what_has_no_bearing_may_differ() -> None:
    base = recorded()
    for path, value in (
        ("workload.kernel_sha256", "0" * 64),
        ("workload.kernel_file", "other.py"),
        ("environment.triton", "9.9"),
        ("environment.ncu", "9.9"),
        ("environment.command", []),
        ("environment.device", "cuda:3"),
        ("blocks.timing.throttle_reasons", ["sw_power_cap"]),
        ("kprof_version", "9.9"),
    ):
        assert verdict(f"{KERNEL}: 3%", base, at(base, path, value)).verdict == "pass", path
    both = [at(base, "environment.driver", None)] * 2
    assert verdict(f"{KERNEL}: 3%", *both).verdict == "pass"


def test_the_version_of_triton_matters_between_two_triton_kernels_alone() -> None:
    base = recorded()
    assert base["workload"]["kind"] == "cuda"
    fused = at(at(base, "workload.kind", "triton"), "environment.triton", "3.6.0")
    for report, baseline in ((fused, base), (base, fused), (fused, fused)):
        assert verdict(f"{KERNEL}: 3%", report, baseline).verdict == "pass"
    found = verdict(f"{KERNEL}: 3%", fused, at(fused, "environment.triton", "9.9"))
    assert (found.code, "triton is 3.6.0, in the baseline 9.9" in found.message) == ("not_comparable", True)


INT8 = [{"shape": [4, 10, 32], "dtype": "int8"}, {"shape": [8], "dtype": "int8"}]


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (
            "workload.overrides",
            {"R": 8, "B": 8192, "name": "x"},
            "overrides is R=8 B=8192 name=x, in the baseline R=4 ",
        ),
        ("workload.overrides", {}, "overrides is none, in the baseline R=4 "),
        ("workload.inputs", INT8, "shapes is (4, 10, 32), (8,), in the baseline (4, 1024, 1024);"),
        ("workload.inputs", INT8, "dtypes is int8, int8, in the baseline float32"),
        ("environment.tf32_matmul", True, "tf32_matmul is true, in the baseline false"),
    ],
)
def test_differences_are_told_as_people_write_them(path: str, value: Any, told: str) -> None:
    base = recorded()
    assert told in verdict(f"{KERNEL}: 3%", at(base, path, value), base).message


def test_ncu_matters_to_what_it_measured() -> None:
    base = recorded()
    base["blocks"]["sol"].update(status="ok", score=0.8, task_score=0.5)
    other = at(base, "environment.ncu", "9.9")
    assert verdict("sol.score: 3%", base, other).code == "not_comparable"
    assert verdict("sol.task_score: 3%", base, other).verdict == "pass"


def test_host_time_is_no_device_time() -> None:
    base = recorded()
    found = verdict(f"{KERNEL}: 3%", at(base, "blocks.timing.headline_view", "host"), base)
    assert (found.verdict, found.code) == ("inconclusive", "not_comparable")
    assert "headline_view" in found.message
