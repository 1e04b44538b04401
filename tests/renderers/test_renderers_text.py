"""The summary for people."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import captures
import made_evidence
import msgspec
import pytest

from kprof.capture import load_capture
from kprof.evidence import Fault, Reason, Repeat
from kprof.launches_evidence import LaunchesEvidence, SideLaunches
from kprof.renderers.layout import Style
from kprof.renderers.text import render
from kprof.report import build_report

every_run = pytest.mark.parametrize("name", captures.ALL)
DATA = Path(__file__).resolve().parents[1] / "data"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def shown(capture: Any, **how: Any) -> str:
    return render(build_report(capture), **how)


@every_run
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_page_and_none_has_spaces_at_its_end(name: str, width: int) -> None:
    for line in shown(captures.ALL[name](), width=width).splitlines():
        assert len(line) <= width, line
        assert line == line.rstrip(), repr(line)


@every_run
def test_ascii_only(name: str) -> None:
    capture = captures.ALL[name]()
    assert shown(capture, ascii_only=True).isascii()
    assert not shown(capture).isascii()


@every_run
def test_colour_adds_escapes_and_nothing_else(name: str) -> None:
    capture = captures.ALL[name]()
    plain, coloured = shown(capture), shown(capture, color=True)
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    # Padding before a colour ends is inside it.
    assert [line.rstrip() for line in ESCAPE.sub("", coloured).splitlines()] == plain.splitlines()


@every_run
def test_it_fits_one_screen(name: str) -> None:
    assert shown(captures.ALL[name]()).count("\n") <= 64


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("tiny", "RIGHT    5 of 5 trials agree"),
        ("wrong", "WRONG    1 of 3 trials agree; 24 of 960 elements out of tolerance"),
        ("nan", "UNKNOWN  0 of 2 trials agree"),
        ("without_ref", "UNTESTED no reference was given"),
        ("build_failure", "FAILED   build, kernel: nvcc: error: expected a ';' (build_failed)"),
        ("ref_failure", "FAILED   precision, reference: RuntimeError: no such op (raised)"),
    ],
)
def test_the_verdict_comes_first(name: str, verdict: str) -> None:
    title, first = shown(captures.ALL[name]()).split("\n\n")[:2]
    assert title.startswith("c")
    assert first.startswith(verdict)


def test_the_speedup_names_its_clock_and_its_interval() -> None:
    text = shown(captures.h200_tiny())
    assert re.search(r"^SPEEDUP  11\.00x \(95 %: \d+\.\d+x to \d+\.\d+x\) by device time, cold L2$", text, re.MULTILINE)
    assert "kernel 1.600 us, reference 17.60 us" in text
    assert "by host time, warm" in shown(captures.cpu_run())


def test_a_slower_kernel_is_said_to_be_slower() -> None:
    slow = made_evidence.series("host", "warm", 180.0, 90.0)
    timing = msgspec.structs.replace(captures.cpu_run().timing, series=(slow,))
    text = shown(captures.cpu_run(timing=timing))
    assert "SPEEDUP  0.5000x, slower than the reference (95 %" in text


def test_a_wrong_kernel_gets_no_praise_for_its_speed() -> None:
    text = shown(captures.wrong_kernel(), color=True)
    plain = ESCAPE.sub("", text).replace("\n         ", " ")
    assert "SPEEDUP? not to be believed: the result is wrong; 11.00x (95 %" in plain
    assert "\x1b[1;32m" not in text
    assert "\x1b[1;31mWRONG" in text


def test_green_for_right_and_faster() -> None:
    text = shown(captures.h200_tiny(), color=True)
    assert "\x1b[1;32mRIGHT" in text
    assert "\x1b[1;32mSPEEDUP" in text


def test_absent_values_show_their_reason_and_no_dash() -> None:
    text = shown(captures.without_ref(captures.h200_tiny()))
    assert re.search(r"^kernels +1 +no reference$", text, re.MULTILINE)
    assert "no speedup: no reference was given (no_reference)" in " ".join(text.split())
    assert not re.search(r"\s-+\s", text)
    assert "None" not in text
    assert "null" not in text


def test_the_worst_element_and_the_mismatch_are_shown_for_a_wrong_result_only() -> None:
    wrong = shown(captures.wrong_kernel())
    assert "out: 12 of 320 elements out of tolerance (values)" in wrong
    assert "largest error over its tolerance: out[3, 7] is 2, reference 2.5" in " ".join(wrong.split())
    assert "largest error over" not in shown(captures.h200_tiny())


def test_a_vacuous_pass_has_a_question_mark() -> None:
    zeros = made_evidence.precision(made_evidence.trial(1, vacuous_controls=("zeros",)))
    text = shown(captures.h200_tiny(precision=zeros))
    assert "RIGHT?   1 of 1 trials agree" in text
    assert "(vacuous)" in text


def test_what_user_code_prints_cannot_write_on_the_terminal() -> None:
    fault = Fault(
        stage="timing",
        side="kernel",
        code="raised",
        message="bad \x1b[31mred\x1b[0m\nSPEEDUP  99x\x07",
        detail="line \x1b[2Jone\r\nline two",
    )
    text = shown(captures.h200_tiny(faults=(fault,)))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert not re.search(r"^SPEEDUP  99x", text, re.MULTILINE)
    assert "| line two" in text


def test_a_wide_kernel_name_keeps_both_its_ends() -> None:
    name = "void ns::" + "start_" + "x" * 200 + "_end(int)"
    side = SideLaunches(launches=(made_evidence.kernel_launch(name, 0.0, 1.6),), host_launches=1, operator_calls=0)
    launches = LaunchesEvidence(kernel=side, ref=captures.tiny_launches().ref, series=captures.tiny_launches().series)
    text = shown(captures.h200_tiny(launches=launches))
    assert re.search(r"^start_x+…x+_end +kernel +1 +1\.600 us +2 +256$", text, re.MULTILINE)
    assert re.search(
        r"^start_x+\.\.\.x+_end +kernel", shown(captures.h200_tiny(launches=launches), ascii_only=True), re.M
    )


def test_many_kernels_are_cut_and_counted() -> None:
    launches = tuple(made_evidence.kernel_launch(f"k{i}", float(i), 1.0) for i in range(25))
    side = SideLaunches(launches=launches, host_launches=25, operator_calls=0)
    assert "and 19 more in the report" in shown(captures.h200_tiny(launches=LaunchesEvidence(kernel=side)))


def test_warnings_are_told_once_with_what_to_do() -> None:
    warning = Reason(code="short_budget", message="only 12 samples", hint="Raise the budget.")
    timing = msgspec.structs.replace(captures.tiny_timing(), warnings=(warning,))
    workload = made_evidence.workload(warnings=(warning,))
    text = shown(captures.h200_tiny(timing=timing, workload=workload))
    assert text.count("! short_budget: only 12 samples. Raise the budget.") == 1


def test_repeats_are_told() -> None:
    taken = tuple(Repeat(timer="event", cache="cold", kernel_us=100.0 + i, ref_us=200.0) for i in range(3))
    text = shown(captures.h200_tiny(timing=msgspec.structs.replace(captures.tiny_timing(), repeats=taken)))
    assert "3 fresh processes, event pair, cold L2: spread of kernel 1.98 %, reference" in text


@pytest.mark.parametrize(
    ("text", "width", "short"), [("abcdef", 6, "abcdef"), ("abcdefgh", 6, "abc…gh"), ("abcdefgh", 3, "a…h")]
)
def test_shortening_in_the_middle(text: str, width: int, short: str) -> None:
    assert Style().shorten(text, width) == short


def test_shortening_in_ascii() -> None:
    assert Style(ascii_only=True).shorten("abcdefghij", 7) == "ab...ij"


def test_a_stack_shows_the_lines_of_the_user_s_files_first() -> None:
    frames = [f'  File "/env/torch/deep_{index}.py", line {index} in inner' for index in range(9)]
    theirs = '  File "/home/me/cuda_naive.py", line 12 in forward'
    stack = ["printed before", "Current thread 0x1 (most recent call first):", *frames, theirs, *frames[:3]]
    end = [f'  File "<frozen runpy>", line {index} in _run' for index in range(6)]
    fault = Fault(stage="timing", side="kernel", code="timeout", message="slow", detail="\n".join(stack + end))
    text = shown(captures.h200_tiny(faults=(fault,)))
    assert text.index('cuda_naive.py", line 12') < text.index("deep_0.py")
    assert "runpy" not in text


def test_a_doubted_speedup_has_its_reason_in_the_next_line() -> None:
    text = shown(captures.timing_hang())
    lines = text.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("SPEEDUP?"))
    assert "(timeout)" in " ".join(lines[at + 1 : at + 4])


def test_where_the_floor_is_below_any_launch_no_room_is_promised() -> None:
    capture = load_capture(DATA / "h200" / "cuda_naive_4x10x32.json")
    text = " ".join(shown(capture).split())
    assert "is less than a kernel that does nothing takes (0.9 us)" in text.split("FLOOR")[1][:200]
    assert "to gain" not in text


def test_a_wrong_kernel_under_the_floor_does_not_make_the_floor_wrong() -> None:
    report = build_report(captures.wrong_kernel())
    sol = msgspec.structs.replace(
        report.blocks.sol, status="ok", floor_us=10.0, task_score=6.25, headroom=0.16, floor_kind="upper_estimate"
    )
    changed = msgspec.structs.replace(report, blocks=msgspec.structs.replace(report.blocks, sol=sol))
    text = " ".join(render(changed).split())
    assert "faster than the estimated floor, which counts for nothing: the result is wrong" in text
    assert "the estimate is too high" not in text


def test_where_more_launches_are_is_said_as_it_is() -> None:
    text = shown(load_capture(DATA / "h200" / "cuda_naive_4x10x32.json"))
    assert "and 4 more in the report; --format csv has every launch" in text
