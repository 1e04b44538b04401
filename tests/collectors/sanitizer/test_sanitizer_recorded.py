"""Logs that compute-sanitizer wrote on an H200: read into what was planted, and into what the report says of it."""

from __future__ import annotations

from pathlib import Path

import captures
import msgspec
import pytest

from kprof.blocks.integrity.block import integrity_block
from kprof.collectors.sanitizer.log import own_errors, read_log
from kprof.sanitizer_evidence import SanitizerEvidence, SanitizerFinding, SanitizerRun, SanitizerTool

DATA = Path(__file__).parents[2] / "data" / "sanitizer"
PLANTED = Path(__file__).parents[2] / "kernels" / "planted" / "planted.cu"


def log(name: str) -> str:
    return (DATA / f"{name}.log").read_text()


OUT_OF_BOUNDS = SanitizerFinding(
    kind="out_of_bounds",
    severity="error",
    message="Invalid __global__ write of size 4 bytes: access is out of bounds",
    kernel="out_of_bounds_kernel",
    file="planted.cu",
    line=13,
    thread=(232, 0, 0),
    block=(3, 0, 0),
    count=24,
)
RACE = SanitizerFinding(
    kind="race",
    severity="error",
    message="Race between Write access and Read access with planted.cu:21",
    kernel="race_kernel",
    file="planted.cu",
    line=20,
    count=4000,
)
UNINITIALIZED = SanitizerFinding(
    kind="uninitialized_read",
    severity="error",
    message="Uninitialized __global__ memory read of size 4 bytes",
    kernel="uninitialized_kernel",
    file="planted.cu",
    line=28,
    thread=(32, 0, 0),
    block=(2, 0, 0),
    count=271,
)
TRITON = SanitizerFinding(
    kind="out_of_bounds",
    severity="error",
    message="Invalid __global__ write of size 8 bytes: access is out of bounds",
    kernel="add_one",
    file="tri.py",
    line=5,
    thread=(116, 0, 0),
    block=(3, 0, 0),
    count=12,
)
FOUND: tuple[tuple[str, SanitizerTool, SanitizerFinding, int | None], ...] = (
    ("out_of_bounds.memcheck", "memcheck", OUT_OF_BOUNDS, 24),
    ("race.racecheck", "racecheck", RACE, 1),
    ("uninitialized.initcheck", "initcheck", UNINITIALIZED, None),  # the recorded log is cut
    ("triton.memcheck", "memcheck", TRITON, 12),
)


@pytest.mark.parametrize(("name", "tool", "finding", "errors"), FOUND)
def test_each_planted_fault_is_one_finding(
    name: str, tool: SanitizerTool, finding: SanitizerFinding, errors: int | None
) -> None:
    found = read_log(log(name))
    assert found.findings == (finding,)
    assert found.errors == errors


@pytest.mark.parametrize("name", ["clean.memcheck", "clean.initcheck"])
def test_a_clean_kernel_has_none(name: str) -> None:
    found = read_log(log(name))
    assert (found.findings, found.errors, own_errors(log(name))) == ((), 0, "")


def test_the_lines_are_those_of_the_faults() -> None:
    lines = PLANTED.read_text().splitlines()
    assert "out[i] = value" in lines[OUT_OF_BOUNDS.line - 1]  # type: ignore[operator]
    assert "kept[threadIdx.x] =" in lines[RACE.line - 1]  # type: ignore[operator]
    assert "kept[255 - threadIdx.x]" in lines[21 - 1]
    assert "unwritten[i]" in lines[UNINITIALIZED.line - 1]  # type: ignore[operator]


def test_that_the_program_ended_badly_is_no_finding() -> None:
    assert own_errors(log("out_of_bounds.memcheck")).splitlines() == [
        "Error: process didn't terminate successfully",
        "Target application returned an error",
    ]


DETAILS = {
    "out_of_bounds.memcheck": "Invalid __global__ write of size 4 bytes: access is out of bounds in "
    "out_of_bounds_kernel at planted.cu:13, thread (232, 0, 0) of block (3, 0, 0), 24 times",
    "race.racecheck": "Race between Write access and Read access with planted.cu:21 in race_kernel at planted.cu:20, "
    "4000 hazards",
    "uninitialized.initcheck": "Uninitialized __global__ memory read of size 4 bytes in uninitialized_kernel at "
    "planted.cu:28, thread (32, 0, 0) of block (2, 0, 0), 271 times",
    "triton.memcheck": "Invalid __global__ write of size 8 bytes: access is out of bounds in add_one at tri.py:5, "
    "thread (116, 0, 0) of block (3, 0, 0), 12 times",
}


@pytest.mark.parametrize(("name", "tool", "finding", "errors"), FOUND)
def test_what_the_report_says(name: str, tool: SanitizerTool, finding: SanitizerFinding, errors: int | None) -> None:
    found = read_log(log(name))
    run = SanitizerRun(tool=tool, findings=found.findings, errors=found.errors)
    block = integrity_block(
        msgspec.structs.replace(captures.h200_tiny(), sanitizer=SanitizerEvidence(runs=(run,))),
    )
    (check,) = block.checks or ()
    assert (check.name, check.passed, check.detail) == (tool, False, DETAILS[name])
    (info,) = block.sanitizer or ()
    assert (info.errors, info.findings[0].reports) == (errors, finding.count)
