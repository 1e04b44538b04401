"""Baselines of ``kprof check``: picking one by board, and making one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gate_reports import recorded, slowed
from gate_runs import put


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

    @pytest.mark.parametrize("why", ["suspect", "null", "none"])
    def test_the_first_has_to_have_what_later_ones_are_held_against(self, check: Any, why: str) -> None:
        report = recorded()
        timing = report["blocks"]["timing"]
        if why == "suspect":
            timing.update(status="suspect", reason={"code": "x", "message": "two timers disagree", "hint": ""})
        elif why == "null":
            timing["kernel_us"] = None
        else:
            del report["blocks"]["timing"]
        put("r.json", report)
        ran = check("r.json", "--baseline", "new.json", "--update-baseline")
        assert "new.json was not updated: timing.kernel_us: " in ran.err
        assert not Path("new.json").exists()
