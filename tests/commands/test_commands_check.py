"""``kprof check``: exit codes, files in and out, and what it says where."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from gate_reports import FILES, H200, recorded, slowed

from kprof import cli
from kprof.renderers.json import render_json
from kprof.report import report_schema

PASSING = "thresholds:\n  - timing.speedup >= 1.2\nregressions:\n  timing.kernel_us: 3%\n"
FAILING = "thresholds:\n  - timing.speedup >= 1000\n"
INCONCLUSIVE = "thresholds:\n  - sol.score >= 0.1\n"
NOT_GATED = "regressions:\n  timing.kernel_us: 3% and 500 us\n"


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def gates(self) -> list[dict[str, Any]]:
        return json.loads(self.out)["gates"]  # type: ignore[no-any-return]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a report, its baseline and thresholds, outside GitHub Actions."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("r.json", "b.json"):
        put(name, recorded())
    Path("t.yaml").write_text(PASSING)
    return tmp_path


def put(name: str, report: Any) -> None:
    Path(name).write_text(render_json(report))


@pytest.fixture
def check(folder: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> Ran:
        code = cli.run(["check", *arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Ran(code, out, err)

    return run


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


class TestBaselines:
    """Picking a baseline by board, and making one."""

    def test_the_first_baseline_needs_no_other(self, check: Any) -> None:
        ran = check("r.json", "--thresholds", "t.yaml", "--baseline", "new.json", "--update-baseline")
        assert ran.code == 0
        assert [one["kind"] for one in ran.gates] == ["threshold"]
        assert Path("new.json").read_bytes() == Path("r.json").read_bytes()
        assert check("r.json", "--thresholds", "t.yaml", "--baseline", "new.json").code == 0

    def test_a_passing_report_replaces_it(self, check: Any) -> None:
        put("r.json", slowed(recorded(), 0.8))
        ran = check("r.json", "--baseline", "b.json", "--update-baseline")
        assert (ran.code, "b.json is the baseline now" in ran.err) == (0, True)
        assert Path("b.json").read_bytes() == Path("r.json").read_bytes()
        assert not list(Path().glob(".kprof.*"))

    @pytest.mark.parametrize("why", ["slower", "wrong", "crashed", "inconclusive", "unchecked"])
    def test_no_other_report_does(self, check: Any, why: str) -> None:
        report = slowed(recorded(), 1.2 if why == "slower" else 1.0)
        if why in ("wrong", "unchecked"):
            report["blocks"]["precision"]["passed"] = False if why == "wrong" else None
        if why == "crashed":
            report["faults"] = [{"stage": "timing", "side": "ref", "code": "crashed", "message": "", "hint": ""}]
        if why == "inconclusive":
            report["environment"]["torch"] = "1.0"
        put("r.json", report)
        before = Path("b.json").read_bytes()
        ran = check("r.json", "--baseline", "b.json", "--update-baseline", "--inconclusive-ok")
        assert "b.json was not updated" in ran.err
        assert Path("b.json").read_bytes() == before
        assert ran.code == {"slower": 1, "wrong": 1, "crashed": 3, "inconclusive": 0, "unchecked": 0}[why]

    def test_a_folder_has_one_a_board(self, check: Any) -> None:
        Path("base").mkdir()
        ran = check("r.json", "--baseline-dir", "base")
        assert (ran.code, "no baseline nvidia-h200.json in base: found no .json file" in ran.err) == (4, True)
        put("base/nvidia-a100-sxm4-80gb.json", recorded())
        ran = check("r.json", "--baseline-dir", "base")
        assert (ran.code, "found nvidia-a100-sxm4-80gb.json" in ran.err) == (4, True)
        assert [(one["verdict"], one["code"]) for one in ran.gates] == [("inconclusive", "no_baseline")]
        assert check("r.json", "--baseline-dir", "base", "--update-baseline").code == 0
        assert sorted(one.name for one in Path("base").iterdir()) == ["nvidia-a100-sxm4-80gb.json", "nvidia-h200.json"]
        assert check("r.json", "--baseline-dir", "base").code == 0

    def test_a_folder_that_is_missing_has_none_and_is_made(self, check: Any) -> None:
        ran = check("r.json", "--baseline-dir", "no/such")
        assert (ran.code, ran.gates[0]["code"]) == (4, "no_baseline")
        assert "there is no such folder" in ran.gates[0]["message"]
        assert "--update-baseline makes it" in ran.gates[0]["hint"]
        assert check("r.json", "--baseline-dir", "no/such", "--inconclusive-ok").code == 0
        assert not Path("no").exists()
        assert check("r.json", "--baseline-dir", "no/such", "--update-baseline").code == 0
        assert Path("no/such/nvidia-h200.json").read_bytes() == Path("r.json").read_bytes()
        ran = check("r.json", "--baseline-dir", "b.json/below", "--update-baseline")
        assert (ran.code, "cannot make the folder" in ran.err) == (2, True)

    def test_a_report_without_a_board_cannot_pick(self, check: Any) -> None:
        report = recorded()
        report["environment"]["device_name"] = None
        put("r.json", report)
        ran = check("r.json", "--baseline-dir", ".")
        assert (ran.code, "does not name the board" in ran.err) == (2, True)


class TestAnalyze:
    """The same options where a report is made."""

    CAPTURE = str(H200 / f"{FILES['medium']}.json")

    def analyze(self, capfd: pytest.CaptureFixture[str], *arguments: str) -> Ran:
        code = cli.run(["analyze", "--capture", self.CAPTURE, *arguments])
        return Ran(code, *capfd.readouterr())

    def test_verdicts_are_in_the_report(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        ran = self.analyze(capfd, "--thresholds", "t.yaml", "--baseline", "b.json")
        assert ran.code == 0
        report = json.loads(ran.out)
        jsonschema.validate(report, report_schema())
        assert [one["verdict"] for one in report["gates"]] == ["pass", "pass"]
        assert "2 pass" in ran.err

    def test_check_says_the_same_of_the_report_that_it_made(
        self, folder: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        Path("t.yaml").write_text(FAILING + "  - sol.score > 0.1\nregressions:\n  timing.speedup: 1%\n")
        ran = self.analyze(capfd, "--thresholds", "t.yaml", "--baseline", "b.json", "-o", "a.json", "-q")
        assert ran.code == 1
        code = cli.run(["check", "a.json", "--thresholds", "t.yaml", "--baseline", "b.json", "-q"])
        out, _ = capfd.readouterr()
        assert code == 1
        assert json.loads(out) == json.loads(Path("a.json").read_text())

    def test_exit_codes(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        for text, code in ((FAILING, 1), (INCONCLUSIVE, 4), ("thresholds:\n  - nope > 1\n", 2)):
            Path("t.yaml").write_text(text)
            ran = self.analyze(capfd, "--thresholds", "t.yaml", "--baseline", "b.json", "-q")
            assert ran.code == code
            assert (ran.out == "") == (code == 2)

    def test_a_bad_file_is_found_before_anything_is_measured(
        self, folder: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        Path("k.py").write_text("raise SystemExit(7)\n")
        Path("t.yaml").write_text("thresholds: {}\n")
        assert cli.run(["analyze", "k.py", "--ref", "k.py", "--thresholds", "t.yaml"]) == 2
        assert "expected a list" in capfd.readouterr().err
        assert cli.run(["analyze", "k.py", "--ref", "k.py", "--require-power"]) == 2

    def test_a_folder_without_the_board_loses_no_measurement(
        self, folder: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        Path("base").mkdir()
        ran = self.analyze(capfd, "--baseline-dir", "base", "-o", "a.json", "-q")
        assert (ran.code, "no baseline nvidia-h200.json" in ran.err) == (4, True)
        assert json.loads(Path("a.json").read_text())["gates"][0]["code"] == "no_baseline"

    def test_a_baseline_made_by_analyze_is_a_report_without_verdicts(
        self, folder: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        ran = self.analyze(capfd, "--thresholds", "t.yaml", "--baseline", "new.json", "--update-baseline", "-q")
        assert ran.code == 0
        assert json.loads(Path("new.json").read_text())["gates"] == []
        assert self.analyze(capfd, "--thresholds", "t.yaml", "--baseline", "new.json", "-q").code == 0
