"""Thresholds and baselines of ``kprof analyze``: the options of ``kprof check`` where a report is made."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from gate_reports import FILES, H200
from gate_runs import FAILING, INCONCLUSIVE, Ran

from kprof import cli
from kprof.report import report_schema


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
