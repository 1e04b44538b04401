"""The self-test that was recorded on an H200, compared anew: analysis says of its report what it said then."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from selftest_runs import run

from kprof.blocks.counter_analysis import CounterAnalysis, LaunchAnalysis
from kprof.evidence import Reason
from kprof.importing import import_capture
from kprof.kernelnames import base_name
from kprof.probe_evidence import ProbesEvidence
from kprof.renderers.layout import Style
from kprof.renderers.selftest import render_selftest
from kprof.resources import resource_dir
from kprof.selftest.checks import compare
from kprof.selftest.records import ProbeResult, SelftestResult
from kprof.selftest.truths import load_truths

REPO = Path(__file__).resolve().parents[2]
DATA = REPO / "tests" / "data" / "selftest"
RESULT = msgspec.json.decode((DATA / "h200.json").read_bytes(), type=SelftestResult)
FIELDS = {
    "dram_read": "read_bytes",
    "dram_write": "write_bytes",
    "loaded": "load_bytes",
    "stored": "store_bytes",
    **{name: name for name in ("fp32_flop", "fp64_flop", "fp16_flop", "tensor_flop")},
}


@pytest.fixture(scope="module")
def launches(tmp_path_factory: pytest.TempPathFactory) -> tuple[LaunchAnalysis, ...]:
    report = tmp_path_factory.mktemp("selftest") / "h200.ncu-rep"
    report.write_bytes(gzip.decompress((DATA / "h200.ncu-rep.gz").read_bytes()))
    return CounterAnalysis(import_capture(report, None, ())).launches


def evidence() -> ProbesEvidence:
    """The construction and the events, from the rows of the result."""
    runs = []
    for probe in RESULT.probes:
        stated: dict[str, Any] = {FIELDS[one.name]: one.expected for one in probe.checks if one.name in FIELDS}
        if "read_bytes" not in stated:
            stated |= {"read_bytes": None, "write_bytes": None}
        runs.append(run(probe.name, event_us=probe.event_us, **stated))
    return ProbesEvidence(board=RESULT.board, empty_pair_us=RESULT.empty_pair_us, runs=tuple(runs))


def test_every_probe_was_run_and_agreed() -> None:
    assert RESULT.passed
    assert [probe.name for probe in RESULT.probes] == list(load_truths(resource_dir("kernels/probes")))
    assert {probe.status for probe in RESULT.probes} == {"ok"}
    assert all(check.passed for probe in RESULT.probes for check in probe.checks)


def test_the_comparison_of_the_recorded_report_is_what_it_was(launches: tuple[LaunchAnalysis, ...]) -> None:
    again = compare(evidence(), launches, load_truths(resource_dir("kernels/probes")))
    for was, now in zip(RESULT.probes, again, strict=True):
        assert plain(now) == plain(was)


def plain(probe: ProbeResult) -> Any:
    """What is compared: all but the margin, which moves with each threshold."""
    return msgspec.to_builtins(msgspec.structs.replace(probe, margin_pct=None))


def test_wgmma_is_not_told_to_use_wgmma(launches: tuple[LaunchAnalysis, ...]) -> None:
    told = {base_name(one.launch.name): [step.text for step in one.verdict.steps] for one in launches}
    assert any("Use wgmma" in text for text in told["mma_sync"])
    assert not any("Use wgmma" in text for text in told["wgmma"])


def test_the_page_of_accuracy_is_made_from_the_result() -> None:
    done = subprocess.run(
        [sys.executable, REPO / "scripts" / "accuracy_doc.py", "--check"],
        env={**os.environ, "PYTHONPATH": str(REPO)},
        check=False,
    )
    assert done.returncode == 0, "python scripts/accuracy_doc.py"


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_the_page(width: int) -> None:
    text = render_selftest(RESULT, Style(width=width))
    assert max(map(len, text.splitlines())) <= width
    assert "26 of 26 probes agree" in " ".join(text.split())
    assert "MISS" not in text


def test_what_is_missed_or_not_there_is_told() -> None:
    first, second, *others = RESULT.probes
    missed = msgspec.structs.replace(
        second,
        status="missed",
        checks=tuple(
            msgspec.structs.replace(one, measured=None, off_pct=None, passed=False, note="counter_not_collected")
            if one.name == "dram_read"
            else one
            for one in second.checks
        ),
    )
    reason = Reason(code="unsupported", message="compute capability 8.0 has none")
    absent = ProbeResult(name="wgmma", status="unsupported", reason=reason)
    broken = ProbeResult(name="ridge", status="failed", reason=Reason(code="compile_failed", message="ridge.cu: error"))
    probes = (first, missed, *others[:-2], broken, absent)
    text = render_selftest(msgspec.structs.replace(RESULT, passed=False, probes=probes), Style(width=100))
    assert "dram_read: dram_read: nothing, expected 1.007 GB (counter_not_collected)" in " ".join(text.split())
    assert "ridge: compile_failed: ridge.cu: error" in text
    assert "MISSES   23 of 25 probes agree" in text
    assert "1 could not be tried" in text
