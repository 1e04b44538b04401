"""``kprof check``: exit codes, files in and out, and what it says where."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from gate_reports import recorded, slowed
from gate_runs import FAILING, INCONCLUSIVE, NOT_GATED, PASSING, put

from kprof import cli
from kprof.report import report_schema


def test_the_report_with_its_verdicts_on_stdout_and_a_table_on_stderr(check: Any) -> None:
    ran = check("r.json", "--thresholds", "t.yaml", "--baseline", "b.json")
    assert ran.code == 0
    report = json.loads(ran.out)
    jsonschema.validate(report, report_schema())
    assert {**report, "gates": []} == recorded()
    assert [one["verdict"] for one in report["gates"]] == ["pass", "pass"]
    assert "timing.speedup >= 1.2" in ran.err
    assert "2 pass" in ran.err
    assert check("r.json", "--thresholds", "t.yaml", "--baseline", "b.json", "-q").err == ""


@pytest.mark.parametrize(
    ("thresholds", "change", "code"),
    [
        (PASSING, {}, 0),
        (FAILING, {}, 1),
        (INCONCLUSIVE, {}, 4),
        (FAILING + "  - sol.score >= 0.1\n", {}, 1),
        (NOT_GATED, {"slower": 1.1}, 0),
        (PASSING, {"slower": 1.1}, 1),
        (PASSING, {"wrong": True}, 1),
        (INCONCLUSIVE, {"wrong": True}, 1),
        (PASSING, {"crashed": True}, 3),
        (FAILING, {"crashed": True}, 3),
        (PASSING, {"other_driver": True}, 4),
    ],
)
def test_exit_codes(check: Any, thresholds: str, change: dict[str, Any], code: int) -> None:
    report = slowed(recorded(), change.get("slower", 1.0))
    if "wrong" in change:
        report["blocks"]["precision"]["passed"] = False
    if "crashed" in change:
        fault = {
            "stage": "timing",
            "side": "kernel",
            "code": "crashed",
            "message": "it crashed",
            "hint": "",
            "detail": "",
        }
        report["faults"] = [fault]
    if "other_driver" in change:
        report["environment"]["driver"] = "1.0"
    put("r.json", report)
    Path("t.yaml").write_text(thresholds)
    ran = check("r.json", "--thresholds", "t.yaml", "--baseline", "b.json", "-q")
    assert ran.code == code
    start = {0: "", 1: "kprof: error: gate failed", 4: "kprof: error: gate is inconclusive"}
    assert ran.err.startswith(start.get(code, "kprof: error: the report is of a run that failed: timing: it crashed"))
    assert bool(ran.err) == (code != 0)


def test_inconclusive_may_be_declared_to_be_no_matter(check: Any) -> None:
    Path("t.yaml").write_text(INCONCLUSIVE + "regressions: {}\n")
    assert check("r.json", "--thresholds", "t.yaml").code == 4
    assert check("r.json", "--thresholds", "t.yaml", "--inconclusive-ok").code == 0
    Path("t.yaml").write_text(FAILING)
    assert check("r.json", "--thresholds", "t.yaml", "--inconclusive-ok").code == 1


def test_without_a_baseline_asked_for_there_is_no_default_regression(check: Any) -> None:
    Path("t.yaml").write_text("thresholds:\n  - timing.speedup >= 1.2\n")
    ran = check("r.json", "--thresholds", "t.yaml")
    assert (ran.code, [one["kind"] for one in ran.gates]) == (0, ["threshold"])
    ran = check("r.json", "--thresholds", "t.yaml", "--baseline", "b.json")
    assert (ran.code, [one["kind"] for one in ran.gates]) == (0, ["threshold", "regression"])


def test_times_are_told_as_the_summary_tells_them(check: Any) -> None:
    put("r.json", slowed(recorded("large"), 1000.0))
    Path("t.yaml").write_text("thresholds:\n  - timing.kernel_us <= 12 us\n")
    ran = check("r.json", "--thresholds", "t.yaml")
    value = ran.gates[0]["value"]
    assert value > 1e5
    assert f"{value / 1000:.1f} ms against <= 12.00 us" in " ".join(ran.err.split())
    assert "e+0" not in ran.err


@pytest.mark.parametrize(
    ("name", "format_"), [("o.json", "json"), ("o", "json"), ("o.txt", "text"), ("o.md", "markdown")]
)
def test_the_name_of_the_file_says_the_format(check: Any, name: str, format_: str) -> None:
    both = ("r.json", "--thresholds", "t.yaml", "--baseline", "b.json")
    assert check(*both, "-o", name).code == 0
    written = Path(name).read_bytes()
    assert check(*both, "-o", "asked.pdf", "--format", format_).code == 0
    assert Path("asked.pdf").read_bytes() == written
    ran = check(*both, "-o", "o.html")
    assert (ran.code, Path("o.html").exists()) == (2, False)
    assert "expected .json (json), .txt (text), .md (markdown)" in " ".join(ran.err.split())


def test_regressions_without_a_baseline_are_inconclusive(check: Any) -> None:
    ran = check("r.json", "--thresholds", "t.yaml")
    assert (ran.code, ran.gates[1]["code"]) == (4, "no_baseline")


def test_a_baseline_alone_holds_the_kernel_time_to_the_default_tolerance(check: Any) -> None:
    put("large.json", recorded("large"))
    assert check("large.json", "--baseline", "large.json").gates[0]["expression"] == "timing.kernel_us: 1%"
    put("r.json", slowed(recorded("large"), 1.015))
    assert check("r.json", "--baseline", "large.json").code == 1


def test_power_can_be_required_and_differences_ignored(check: Any) -> None:
    assert check("r.json", "--baseline", "b.json").code == 0
    ran = check("r.json", "--baseline", "b.json", "--require-power")
    assert (ran.code, ran.gates[0]["code"]) == (4, "underpowered")
    report = recorded()
    report["environment"]["driver"] = "1.0"
    put("r.json", report)
    ran = check("r.json", "--baseline", "b.json")
    assert (ran.code, "driver is 1.0" in ran.err, "--ignore-difference driver" in ran.err) == (4, True, True)
    assert check("r.json", "--baseline", "b.json", "--ignore-difference", "driver").code == 0
    assert check("r.json", "--baseline", "b.json", "--ignore-difference", "ref_sha256").code == 2


def test_nan_as_some_writers_write_it_is_read_and_never_passes(check: Any) -> None:
    text = Path("r.json").read_text().replace('"kernel_us": 9.183', '"kernel_us": NaN', 1)
    assert "NaN" in text
    Path("r.json").write_text(text)
    Path("t.yaml").write_text("thresholds:\n  - timing.kernel_us < 1e9\n  - timing.kernel_us > -1\nregressions: {}\n")
    ran = check("r.json", "--thresholds", "t.yaml")
    assert ran.code == 4
    assert json.loads(ran.out)["blocks"]["timing"]["kernel_us"] is None
    assert [one["code"] for one in ran.gates] == ["not_a_number", "not_a_number"]


def test_a_report_from_stdin(folder: Path) -> None:
    command = [sys.executable, "-m", "kprof", "check", "-", "--thresholds", "t.yaml", "--baseline", "b.json", "-q"]
    env_path = str(Path(cli.__file__).parents[1])
    done = subprocess.run(
        command, input=Path("r.json").read_bytes(), capture_output=True, check=False, env={"PYTHONPATH": env_path}
    )
    assert done.returncode == 0, done.stderr
    assert [one["verdict"] for one in json.loads(done.stdout)["gates"]] == ["pass", "pass"]


def test_it_needs_neither_torch_nor_scipy_nor_the_records_of_a_report(folder: Path) -> None:
    blocked = ("torch", "scipy", "pandas", "matplotlib", "kprof.report", "kprof.worker", "kprof.collectors")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked}))\n"
        "from kprof import cli\n"
        "sys.exit(cli.run(['check', 'r.json', '--thresholds', 't.yaml', '--baseline', 'b.json', '--junit', 'o.xml']))"
    )
    env = {"PYTHONPATH": str(Path(cli.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("format_", "told"), [("text", "gates ───"), ("markdown", "### kprof cuda_naive.py: 2 pass")])
def test_other_formats_hold_the_verdicts_alone(check: Any, format_: str, told: str) -> None:
    both = ("--thresholds", "t.yaml", "--baseline", "b.json", "--format", format_)
    assert told in check("r.json", *both).out.replace("\\_", "_")
    assert check("r.json", *both, "-o", "out").out == ""
    assert told in Path("out").read_text().replace("\\_", "_")


def test_junit_has_a_case_a_gate(check: Any) -> None:
    Path("t.yaml").write_text(FAILING + "  - sol.score >= 0.1\n  - timing.speedup >= 1\n")
    ran = check("r.json", "--thresholds", "t.yaml", "--baseline", "b.json", "--junit", "out.xml")
    assert ran.code == 1
    root = ET.parse("out.xml").getroot()
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
    }


def test_github_actions_gets_annotations_and_a_summary(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("t.yaml").write_text(FAILING)
    Path("summary.md").write_text("before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    ran = check("r.json", "--thresholds", "t.yaml", "--baseline", "b.json", "-q")
    assert json.loads(ran.out)
    (annotation,) = [line for line in ran.err.splitlines() if line.startswith("::")]
    assert annotation.startswith("::error ")
    assert "timing.speedup >= 1000" in annotation
    summary = Path("summary.md").read_text()
    assert summary.startswith("before\n### kprof cuda_naive.py: 1 pass, 1 FAIL")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "no/such/summary.md")
    ran = check("r.json", "--thresholds", "t.yaml", "--baseline", "b.json", "-q")
    assert (ran.code, "cannot write the step summary" in ran.err) == (1, True)
