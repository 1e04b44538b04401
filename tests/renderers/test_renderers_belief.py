"""A kernel whose result is wrong, or that did not do its work: nobody is told how to make it faster."""

from __future__ import annotations

import msgspec
import pytest
from captures import cpu_run, precision, series, timing_hang, wrong_kernel, wrong_trial
from ceilings import cpu_ceilings
from compared_reports import changed, naive

from kprof.blocks.integrity.check import fail
from kprof.floor_evidence import FloorEvidence
from kprof.renderers import render_as
from kprof.renderers.layout import Style
from kprof.report import Report, build_report

WAITS = "waits until the result is right"
ADVICE = ("what to try", "What to try", "to gain", "at most", "BOUND", "Go through memory once", "Fuse it with")
every_format = pytest.mark.parametrize("format_", ["text", "markdown", "html"])


def shown(report: Report, format_: str) -> str:
    made = render_as(format_, report, Style())
    assert isinstance(made, str)
    if format_ == "html":  # The fields and the JSON that a page carries keep everything.
        made = made[: made.index("Every number</h2>")]
    return " ".join(made.split())


def on_cpu(us: float = 400.0, input_bytes: int = 2**22, *, wrong: bool) -> Report:
    """A call whose floor is known, and so its label."""
    run = cpu_run(
        floor=FloorEvidence(input_bytes=input_bytes, parameter_bytes=0, output_bytes=2**6, flop={"fp32": 10**3}),
        ceilings=cpu_ceilings(),
        requested=("precision", "timing", "sol", "bottleneck"),
    )
    run = msgspec.structs.replace(
        run, timing=msgspec.structs.replace(run.timing, series=(series("host", "warm", us, 900.0),))
    )
    return build_report(msgspec.structs.replace(run, precision=precision(wrong_trial(1))) if wrong else run)


def on_gpu(*, wrong: bool) -> Report:
    return changed(naive(), blocks__precision__passed=False) if wrong else naive()


@every_format
@pytest.mark.parametrize("on", [on_cpu, on_gpu], ids=["cpu", "gpu"])
def test_a_wrong_kernel_is_told_that_it_is_wrong_and_no_way_to_be_faster(on: object, format_: str) -> None:
    assert callable(on)
    report = on(wrong=True)
    assert report.blocks.bottleneck.advice, "the numbers stay in the report"
    text, right = shown(report, format_), shown(on(wrong=False), format_)
    assert WAITS in text
    assert WAITS not in right
    assert text.index("WRONG") < text.index(WAITS)
    assert not [one for one in ADVICE if one in text]
    assert any(one in right for one in ADVICE[:2])


def test_a_hint_to_fuse_a_short_kernel_waits_too() -> None:
    right, wrong = (shown(on_cpu(20.0, 2**8, wrong=one), "text") for one in (False, True))
    assert "floor_below_launch" in right
    assert "Fuse it with its neighbours" in right
    assert "floor_below_launch" in wrong
    assert "Fuse" not in wrong


@every_format
def test_that_it_is_wrong_stands_before_what_else_failed(format_: str) -> None:
    hung = timing_hang()
    text = shown(build_report(msgspec.structs.replace(hung, precision=wrong_kernel().precision)), format_)
    assert text.index("WRONG") < text.index("FAILED")
    assert shown(build_report(hung), "text").index("FAILED") < shown(build_report(hung), "text").index("RIGHT")


@every_format
def test_a_kernel_that_did_not_do_its_work_is_not_advised_either(format_: str) -> None:
    checks = (fail("told_apart", "it answers old values"),)
    idle = changed(naive(), blocks__integrity__checks=checks, blocks__integrity__passed=False)
    text = shown(idle, format_)
    assert "waits until integrity passes" in text
    assert not [one for one in ADVICE if one in text]
    both = shown(changed(idle, blocks__precision__passed=False), format_)
    assert "waits until the result is right and integrity passes" in both
