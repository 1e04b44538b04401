"""``kprof check`` on files and options that it cannot use: what was found, where, and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"{", "is not JSON"),
        (b"[]", "is a list"),
        (b"3", "a single value"),
        (b"{}", "no schema_version"),
        (b'{"schema_version": 0, "kprof_version": "0.0.1"}', "schema version 0"),
        (b'{"schema_version": 99}', "update kprof"),
        (b'{"schema_version": "1"}', "schema version '1'"),
        (b'{"capture_version": 1}', "is a capture"),
        (b"NVR\x00\x01", "kprof import"),
        (b"\xff\xfe{}", "is not JSON"),
    ],
)
@pytest.mark.parametrize("which", ["report", "baseline"])
def test_files_that_are_no_reports(check: Any, content: bytes, told: str, which: str) -> None:
    Path("bad.json").write_bytes(content)
    report, baseline = ("bad.json", "b.json") if which == "report" else ("r.json", "bad.json")
    ran = check(report, "--thresholds", "t.yaml", "--baseline", baseline)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert "bad.json" in ran.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["r.json"], "no gate to judge by"),
        (["missing.json", "--thresholds", "t.yaml"], "cannot read missing.json"),
        (["r.json", "--thresholds", "missing.yaml"], "cannot read missing.yaml"),
        (["r.json", "--baseline", "missing.json"], "cannot read missing.json"),
        (["r.json", "--baseline", "b.json", "--baseline-dir", "."], "both --baseline and --baseline-dir"),
        (["r.json", "--thresholds", "t.yaml", "--update-baseline"], "does not say which file"),
        (["r.json", "--thresholds", "t.yaml", "--junit", "r.json"], "same file as r.json"),
        (["r.json", "--thresholds", "t.yaml", "-o", "t.yaml"], "same file as t.yaml"),
        (["r.json", "--baseline", "b.json", "-o", "b.json"], "same file as b.json"),
        (["r.json", "--thresholds", "t.yaml", "--junit", "no/such/folder.xml"], "does not exist"),
        (["r.json", "--baseline-dir", "b.json"], "is no folder"),
        (["r.json", "--thresholds", "."], "cannot read"),
    ],
)
def test_what_cannot_be_used_is_a_usage_error(check: Any, arguments: list[str], told: str) -> None:
    ran = check(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_an_unknown_path_is_told_with_file_line_and_the_nearest(check: Any) -> None:
    Path("t.yaml").write_text("thresholds:\n  - timing.kernl_us < 3\n")
    ran = check("r.json", "--thresholds", "t.yaml")
    assert ran.code == 2
    assert "t.yaml:2: thresholds[0]: timing.kernl_us" in ran.err
    assert "Did you mean timing.kernel_us" in ran.err


@pytest.mark.parametrize(
    ("kernel_file", "told"), [('"\\ud800.py"', "surrogates"), ('{"a":' * 450 + "1" + "}" * 450, "nested too deeply")]
)
def test_what_no_report_can_hold_is_refused(check: Any, kernel_file: str, told: str) -> None:
    report = Path("r.json").read_text()
    name = json.dumps(json.loads(report)["workload"]["kernel_file"])
    Path("bad.json").write_text(report.replace(name, kernel_file, 1))
    ran = check("bad.json", "--thresholds", "t.yaml", "--baseline", "b.json", "--junit", "j.xml")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


@pytest.mark.parametrize("faults", ["x", {"code": "crashed"}, [1, "a"], 0, None])
def test_faults_that_cannot_be_read_are_not_none(check: Any, faults: Any) -> None:
    report = json.loads(Path("r.json").read_text())
    Path("bad.json").write_text(json.dumps({**report, "faults": faults}))
    ran = check("bad.json", "--baseline", "b.json")
    assert (ran.code, ran.out) == (2, "")
    assert "bad.json: faults is no list of objects" in ran.err
