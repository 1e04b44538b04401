"""Verdicts as a table, Markdown, JUnit XML and annotations: nothing in a message may break their form."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from kprof.evidence import Reason
from kprof.renderers import gate_markdown, gate_table, github, junit
from kprof.verdicts import Verdict, VerdictWord

NASTY = "50% of | `a`,\r\nb: <c> & \x1b[31m\x00 \ud800 µs"


def made(word: VerdictWord, expression: str = "timing.kernel_us: 3%", message: str = "why") -> Verdict:
    return Verdict(
        metric="timing.kernel_us",
        expression=expression,
        kind="regression",
        verdict=word,
        code="some_code",
        message=message,
        hint="Do this.",
        value=11.4231,
        baseline=11.0,
        unit="us",
        threshold=11.33,
        change_pct=3.846,
        mde_pct=0.91,
        warnings=(Reason(code="underpowered", message=message),) if word == "pass" else (),
    )


PLAIN = Verdict(
    metric="precision.passed", expression="precision.passed == true", kind="threshold", verdict="pass",
    code="within_threshold", message="", value=True, threshold=True,
)  # fmt: skip
ALL = (PLAIN, made("pass"), made("fail"), made("inconclusive"), made("not_gated"))


def test_the_table() -> None:
    assert gate_table.render(ALL, ascii_only=True) == (
        "-- gates -----------------------------------------------------------------------\n"
        "verdict       gate                         value    baseline    change    finds\n"
        "pass          precision.passed == true      true           -         -        -\n"
        "pass          timing.kernel_us: 3%      11.42 us    11.00 us   +3.85 %   0.91 %\n"
        "FAIL          timing.kernel_us: 3%      11.42 us    11.00 us   +3.85 %   0.91 %\n"
        "INCONCLUSIVE  timing.kernel_us: 3%      11.42 us    11.00 us   +3.85 %   0.91 %\n"
        "not gated     timing.kernel_us: 3%      11.42 us    11.00 us   +3.85 %   0.91 %\n"
        "! timing.kernel_us: underpowered: why\n"
        "FAIL timing.kernel_us: why (some_code). Do this.\n"
        "INCONCLUSIVE timing.kernel_us: why (some_code). Do this.\n"
        "not gated timing.kernel_us: why (some_code). Do this.\n"
        "2 pass, 1 FAIL, 1 INCONCLUSIVE, 1 not gated\n"
    )


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_of_the_table_is_wider_than_the_page(width: int) -> None:
    long = made(
        "fail", expression="kernels[a_very_long_kernel_name_that_goes_on_and_on].duration_us <= 12 us", message=NASTY
    )
    text = gate_table.render((*ALL, long), width=width, color=False)
    assert all(len(line) <= width for line in text.splitlines())
    assert "\x1b" not in text
    assert "\x00" not in text


def test_no_gate_at_all_is_a_table_too() -> None:
    assert gate_table.render(()).endswith("no gate\n")
    assert "no gate" in gate_markdown.render((), "kprof")


def test_markdown_keeps_its_rows() -> None:
    text = gate_markdown.render((PLAIN, made("fail", expression=NASTY, message=NASTY)), "kprof a|b.py")
    lines = text.splitlines()
    assert lines[0] == "### kprof a&#124;b.py: 1 pass, 1 FAIL"
    rows = [line for line in lines if line.startswith("| ")]
    assert len(rows) == 3
    assert all(line.count("|") == 7 for line in rows)
    assert rows[1].startswith("| pass | precision.passed == true | true | - |")
    assert "**FAIL**" in rows[2]
    assert "&#96;a&#96;" in rows[2]
    assert lines[-1].startswith("- **FAIL** timing.kernel_us: 50%")
    assert all(mark not in text for mark in ("`", "<", "\x1b", "\x00"))


def test_a_name_in_markdown_calls_nobody_and_links_nowhere() -> None:
    text = gate_markdown.render((made("fail", message="by @team in #123"),), "kprof @team.py")
    assert text.count("<code>") == text.count("</code>") == 3
    assert "@" not in text


@pytest.mark.parametrize(("allowed", "errors", "skipped"), [(False, "1", "1"), (True, "0", "2")])
def test_junit_is_xml_with_a_case_a_gate(allowed: bool, errors: str, skipped: str) -> None:
    verdicts = (*ALL, made("fail", expression=NASTY, message=NASTY))
    data = junit.render(verdicts, suite="kprof k.py", created="2026-12-01T15:00:00Z", inconclusive_ok=allowed)
    root = ET.fromstring(data)
    (suite,) = root
    assert (root.get("tests"), root.get("failures"), root.get("errors"), root.get("skipped")) == (
        "6",
        "2",
        errors,
        skipped,
    )
    assert suite.get("timestamp") == "2026-12-01T15:00:00Z"
    assert [case.get("name") for case in suite][:2] == ["precision.passed == true", "timing.kernel_us: 3%"]
    outcomes = [[child.tag for child in case] for case in suite]
    assert outcomes[:3] == [[], ["system-out"], ["failure"]]
    failure = suite[2].find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message"), failure.text) == ("some_code", "why", "why\nDo this.")


def test_annotations_are_one_line_each_and_escaped() -> None:
    text = github.render((*ALL, made("fail", expression=NASTY, message=NASTY)), "kernels/k,1.py")
    lines = text.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "::notice", "::error"]
    assert lines[0] == (
        "::error file=kernels/k%2C1.py,title=kprof%3A gate failed%3A timing.kernel_us%3A 3%25::why (some_code)"
    )
    assert lines[3].endswith("::50%25 of | `a`,%0D%0Ab: <c> & \x1b[31m\x00 \ud800 µs (some_code)")
    assert "50%25 of | `a`%2C%0D%0Ab%3A <c>" in lines[3]


def test_annotations_leave_out_passes_and_files_outside_the_checkout() -> None:
    assert github.render((PLAIN,), "k.py") == ""
    assert "file=" not in github.render(ALL, "/home/runner/k.py")
    assert "file=" not in github.render(ALL, None)
    assert github.render(ALL, None, inconclusive_ok=True).count("::notice") == 2
