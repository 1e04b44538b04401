"""What the report says of compute-sanitizer's findings."""

from __future__ import annotations

import captures
import msgspec

from kprof.blocks.base import null_paths
from kprof.blocks.integrity.block import integrity_block
from kprof.capture import Capture, decode_capture, encode_capture
from kprof.evidence import Reason
from kprof.report import build_report, exit_code
from kprof.sanitizer_evidence import SanitizerEvidence, SanitizerFinding, SanitizerRun

ERROR = SanitizerFinding(
    kind="out_of_bounds",
    severity="error",
    message="Invalid __global__ write of size 4 bytes: access is out of bounds",
    kernel="void ns::scale<float>(float *)",
    file="k.cu",
    line=16,
    thread=(17, 0, 0),
    block=(3, 0, 0),
    count=96,
)
WARNING = SanitizerFinding(kind="race", severity="warning", message="Race between Write access", kernel=None)
ABSENT = Reason(code="sanitizer_timeout", message="initcheck took more than 300 s and was ended", hint="h")


def run(*runs: SanitizerRun) -> Capture:
    capture = captures.h200_tiny()
    return msgspec.structs.replace(capture, sanitizer=SanitizerEvidence(version="2025.3.1.0", runs=runs))


def test_an_error_fails_the_block_and_the_run() -> None:
    capture = run(SanitizerRun(tool="memcheck", findings=(ERROR,), errors=96))
    block = integrity_block(capture)
    (check,) = block.checks or ()
    assert (block.status, block.passed) == ("ok", False)
    assert (check.name, check.severity, check.passed) == ("memcheck", "fail", False)
    assert check.detail == (
        "Invalid __global__ write of size 4 bytes: access is out of bounds in scale at k.cu:16, "
        "thread (17, 0, 0) of block (3, 0, 0), 96 times"
    )
    (info,) = block.sanitizer or ()
    assert (info.findings[0].kernel, info.findings[0].file, info.findings[0].line) == ("scale", "k.cu", 16)
    assert exit_code(build_report(capture)) == 1


def test_a_warning_does_not_and_a_tool_that_could_not_work_passes_nothing() -> None:
    capture = run(
        SanitizerRun(tool="racecheck", findings=(WARNING,), errors=0), SanitizerRun(tool="initcheck", absent=ABSENT)
    )
    block = integrity_block(capture)
    race, init = block.checks or ()
    assert (race.passed, race.detail) == (True, "warning: Race between Write access")
    assert (init.passed, init.detail) == (None, ABSENT.message)
    assert block.passed is None
    assert [one.code for one in block.warnings] == ["not_sanitized"]
    assert ABSENT.message in block.warnings[0].message
    assert block.reasons["checks[1].passed"] == "sanitizer_timeout"
    assert set(block.reasons) == set(null_paths(block))
    assert exit_code(build_report(capture)) == 0


def test_errors_that_nobody_can_read_fail_all_the_same() -> None:
    block = integrity_block(run(SanitizerRun(tool="memcheck", errors=2)))
    assert [(check.passed, check.detail) for check in block.checks or ()] == [(False, "2 errors of no known form")]


def test_reports_that_were_not_written_down_are_told() -> None:
    block = integrity_block(run(SanitizerRun(tool="memcheck", findings=(ERROR,), errors=2048)))
    (check,), (info,) = block.checks or (), block.sanitizer or ()
    assert check.detail.endswith(", 96 times (2048 errors in all, of which 96 were written down)")
    assert info.errors == 2048


def test_a_tool_that_came_to_no_sum_has_none() -> None:
    block = integrity_block(run(SanitizerRun(tool="memcheck", findings=(ERROR,))))
    assert block.reasons["sanitizer[0].errors"] == "not_told"
    assert set(block.reasons) == set(null_paths(block))


def test_nothing_was_asked_for() -> None:
    block = integrity_block(captures.h200_tiny())
    assert (block.status, block.sanitizer, block.reasons["sanitizer"]) == ("unavailable", None, "not_collected")


def test_a_capture_keeps_it() -> None:
    capture = run(SanitizerRun(tool="memcheck", findings=(ERROR,), errors=96, command=("compute-sanitizer",)))
    assert decode_capture(encode_capture(capture), "c").sanitizer == capture.sanitizer
