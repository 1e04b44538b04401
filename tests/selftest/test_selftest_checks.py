"""The comparison, on the report of probes that was recorded on an H200: right where it is right, and each miss seen."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from selftest_runs import BOARD, EMPTY_PAIR_US, MIB, WORK, run

from kprof.blocks.counter_analysis import CounterAnalysis, LaunchAnalysis
from kprof.evidence import Reason
from kprof.importing import import_capture
from kprof.probe_evidence import ProbeRun, ProbesEvidence
from kprof.resources import resource_dir
from kprof.selftest.checks import compare
from kprof.selftest.records import Check, ProbeResult
from kprof.selftest.truths import Truth, load_truths

REPORT = Path(__file__).resolve().parents[1] / "data" / "ncu" / "probes.ncu-rep"
TRUTHS = {
    "dram_copy": Truth(labels=("memory/dram",)),
    "fma_fp32": Truth(labels=("compute/fma", "compute/issue")),
    "mma_fp16": Truth(labels=("compute/tensor",)),
    "l2_read": Truth(labels=("memory/l2",)),
    "smem_conflict": Truth(labels=("memory/shared",), advice="bank conflicts"),
}


@cache
def launches() -> tuple[LaunchAnalysis, ...]:
    return CounterAnalysis(import_capture(REPORT, None, ())).launches


def result(name: str, truth: Truth | None = None, **changes: Any) -> ProbeResult:
    runs = () if changes.get("absent") else (run(name, **changes),)
    (only,) = compare(evidence(*runs), launches(), {name: truth or TRUTHS[name]})
    return only


def evidence(*runs: ProbeRun, **more: Any) -> ProbesEvidence:
    return ProbesEvidence(board=BOARD, empty_pair_us=EMPTY_PAIR_US, runs=runs, **more)


def check(found: ProbeResult, name: str) -> Check:
    (only,) = [one for one in found.checks if one.name == name]
    return only


@pytest.mark.parametrize("name", WORK)
def test_what_kprof_reads_of_a_known_kernel_is_what_the_kernel_does(name: str) -> None:
    found = result(name)
    assert found.status == "ok", [one for one in found.checks if not one.passed]
    assert {"launches", "dram_read", "dram_write", "duration", "label"} <= {one.name for one in found.checks}


@pytest.mark.parametrize(
    ("name", "field", "factor"),
    [
        ("dram_copy", "read_bytes", 1.03),
        ("dram_copy", "read_bytes", 0.97),
        ("fma_fp32", "fp32_flop", 1.03),
        ("mma_fp16", "tensor_flop", 0.97),
    ],
)
def test_three_percent_off_is_a_miss(name: str, field: str, factor: float) -> None:
    found = result(name, **{field: WORK[name][field] * factor})
    assert found.status == "missed"
    (missed,) = [one for one in found.checks if not one.passed]
    assert missed.off_pct == pytest.approx((1 / factor - 1) * 100, abs=0.2)


def test_writes_may_lack_what_l2_holds_and_no_more() -> None:
    assert check(result("dram_copy", write_bytes=1052358144.0 + 60 * MIB), "dram_write").passed
    assert not check(result("dram_copy", write_bytes=1052358144.0 + 61 * MIB), "dram_write").passed


def test_a_kernel_that_reads_nothing_may_read_its_own_code() -> None:
    assert check(result("fma_fp32"), "dram_read").passed
    assert not check(result("l2_read", read_bytes=0.0), "dram_read").passed


def test_flop_of_a_type_that_the_probe_has_none_of_are_a_miss() -> None:
    found = result("mma_fp16", tensor_flop=0.0)
    assert not check(found, "tensor_flop").passed
    assert check(result("l2_read"), "fp32_flop").off_pct == pytest.approx(0.0, abs=0.2)


def test_durations_are_held_against_event_pairs_less_an_empty_one() -> None:
    told = check(result("dram_copy"), "duration")
    assert told.expected == pytest.approx(533.5 - EMPTY_PAIR_US)
    assert told.measured == pytest.approx(532.6, abs=0.1)
    assert not check(result("dram_copy", event_us=(570.0, 571.0)), "duration").passed


def test_a_wrong_label_and_missing_advice_are_misses() -> None:
    found = result("smem_conflict", Truth(labels=("memory/l1",), advice="Coalesce"))
    assert not check(found, "label").passed
    assert check(found, "label").measured == "memory/shared"
    assert (check(found, "advice").passed, check(found, "advice").measured) == (False, None)
    assert check(result("smem_conflict"), "advice").passed


def test_the_runner_up_is_right_near_the_border() -> None:
    """The chase is recorded half a percent from the border between two labels."""
    truth = Truth(labels=("latency/under_filled",))
    found = result("pointer_chase", truth, read_bytes=None, write_bytes=None, event_us=(121.0,))
    assert check(found, "label").measured == "latency/memory_dependency"
    assert check(found, "label").passed
    other = result("pointer_chase", Truth(labels=("latency/barrier",)), event_us=())
    assert not check(other, "label").passed


def test_the_number_of_launches_is_exact() -> None:
    assert check(result("dram_copy", launches=1), "launches").passed
    assert not check(result("dram_copy", launches=2), "launches").passed


def test_what_could_not_be_tried_says_why() -> None:
    truths = {"dram_copy": TRUTHS["dram_copy"], "wgmma": Truth(labels=("compute/tensor",))}
    reason = Reason(code="compile_failed", message="dram_copy.cu: error", hint="")
    runs = (run("wgmma", status="unsupported"),)
    first, second = compare(evidence(*runs, lost={"dram_copy": reason}), launches(), truths)
    assert (first.status, first.reason) == ("failed", reason)
    assert second.status == "unsupported"
    (broken,) = compare(evidence(run("wgmma", status="an illegal instruction")), launches(), {"wgmma": truths["wgmma"]})
    assert (broken.status, broken.reason and broken.reason.message) == ("failed", "an illegal instruction")
    (unseen,) = compare(evidence(run("wgmma")), launches(), {"wgmma": truths["wgmma"]})
    assert unseen.reason is not None
    assert unseen.reason.code == "not_profiled"


def test_a_counter_that_is_missing_is_a_miss() -> None:
    bare = [
        msgspec.structs.replace(one.launch, metrics={"gpu__time_duration.sum": 5e5})
        for one in launches()
        if one.launch.name.startswith("dram_copy")
    ]
    capture = import_capture(REPORT, None, ())
    assert capture.counters is not None
    without = msgspec.structs.replace(capture, counters=msgspec.structs.replace(capture.counters, launches=tuple(bare)))
    (found,) = compare(
        evidence(run("dram_copy")), CounterAnalysis(without).launches, {"dram_copy": TRUTHS["dram_copy"]}
    )
    assert found.status == "missed"
    assert check(found, "dram_read").note == "counter_not_collected"


def test_every_probe_has_a_truth_and_every_truth_a_probe() -> None:
    folder = resource_dir("kernels/probes")
    sources = {path.stem for path in folder.glob("*.cu")} - {"run_probes"}
    assert set(load_truths(folder)) == sources
