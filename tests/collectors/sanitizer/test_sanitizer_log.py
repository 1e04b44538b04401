"""What compute-sanitizer's log says: records as its manual has them, of older releases, of no known form."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kprof.collectors.sanitizer.log import own_errors, read_log
from kprof.sanitizer_evidence import SanitizerFinding


def log(*records: str, end: str = "ERROR SUMMARY: 1 error") -> str:
    lines = ["COMPUTE-SANITIZER", *(line for record in records for line in (*record.splitlines(), "")), end]
    return "".join(f"========= {line}\n" for line in lines)


def only(text: str) -> SanitizerFinding:
    (finding,) = read_log(text).findings
    return finding


OUT_OF_BOUNDS = """Invalid __global__ write of size 4 bytes
    at scale(float *, int)+0x70 in planted.cu:16
    by thread ({x},0,0) in block (3,1,0)
    Access to 0x7f{x:04x}0 is out of bounds
    and is {x} bytes after the nearest allocation at 0x7f0000 of size 4000 bytes"""


def test_a_write_out_of_bounds() -> None:
    found = only(log(OUT_OF_BOUNDS.format(x=17)))
    assert (found.kind, found.severity, found.count) == ("out_of_bounds", "error", 1)
    assert found.message == "Invalid __global__ write of size 4 bytes: access is out of bounds"
    assert (found.kernel, found.file, found.line) == ("scale(float *, int)", "planted.cu", 16)
    assert (found.thread, found.block) == ((17, 0, 0), (3, 1, 0))


def test_all_threads_at_one_place_are_one_finding_and_the_first_is_named() -> None:
    records = [OUT_OF_BOUNDS.format(x=x) for x in (9, 10, 11)]
    other = OUT_OF_BOUNDS.format(x=1).replace(":16", ":18")
    text = log(*records, other, end="ERROR SUMMARY: 4 errors")
    first, second = read_log(text).findings
    assert (first.count, first.thread, first.line) == (3, (9, 0, 0), 16)
    assert (second.count, second.line) == (1, 18)
    assert read_log(text).errors == 4


def test_a_device_function_is_told_with_the_kernel_that_called_it() -> None:
    record = OUT_OF_BOUNDS.format(x=0) + "\n    Device Frame: middle(float *)+0x10 in p.cu:20\n"
    record += "    Device Frame: void ns::outer<float, (int)4>(T1 *)+0x30 in p.cu:30"
    found = only(log(record))
    assert (found.kernel, found.file, found.line) == ("void ns::outer<float, (int)4>(T1 *)", "planted.cu", 16)


@pytest.mark.parametrize(
    ("place", "kernel", "file", "line"),
    [
        ("kernel(float *)+0x70", "kernel(float *)", None, None),
        ("0x250 in myapp.cu:41:vector_add(int*)", "vector_add(int*)", "myapp.cu", 41),
        ("0x88 in kernel(float *)", "kernel(float *)", None, None),
        ("void a::b<c::d<(int)2>>(int)+0xfe0 in a b/c:d.cuh:7", "void a::b<c::d<(int)2>>(int)", "a b/c:d.cuh", 7),
        ("triton_poi_fused_0+0x5d0 in kernel.py:12", "triton_poi_fused_0", "kernel.py", 12),
    ],
)
def test_places_of_all_releases(place: str, kernel: str, file: str | None, line: int | None) -> None:
    found = only(log(f"Uninitialized __global__ memory read of size 4 bytes\n    at {place}\n    Address 0x7f10"))
    assert (found.kind, found.kernel, found.file, found.line) == ("uninitialized_read", kernel, file, line)


def test_a_misaligned_access_of_an_older_release() -> None:
    record = "Invalid __global__ write of size 4\n    at 0x60 in d.cu:6:unaligned(void)\n"
    found = only(log(record + "    by thread (0,0,0) in block (0,0,0)\n    Address 0x400100001 is misaligned"))
    assert (found.kind, found.message) == ("misaligned", "Invalid __global__ write of size 4: access is misaligned")


RACE = """{level}: Race reported between Write access at sum(int *, int *)+0x270 in race.cu:48
    and Read access at sum(int *, int *)+0x2c0 in race.cu:50 [16128 hazards]
    and Write access at sum(int *, int *)+0x300 in race.cu:52 [4 hazards]"""


def test_a_race_has_both_sides_and_all_hazards() -> None:
    text = log(RACE.format(level="Error"), end="RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)")
    found = only(text)
    assert (found.kind, found.severity, found.count) == ("race", "error", 16132)
    assert found.message == "Race between Write access and Read access with race.cu:50, race.cu:52"
    assert (found.kernel, found.file, found.line) == ("sum(int *, int *)", "race.cu", 48)
    assert read_log(text).errors == 1


def test_warnings_come_after_errors_and_infos_not_at_all() -> None:
    text = log(
        RACE.format(level="Warning"),
        RACE.format(level="INFO"),
        RACE.format(level="ERROR").replace("48", "12"),
        "ERROR: Potential RAW hazard detected at __shared__ 0x9c in block (0, 0, 0) :\n    Write Thread (0,0,0) at "
        "0x000000a8 in r.cu:46:k(int*)\n    Read Thread (1,0,0) at 0x000000c0 in r.cu:47:k(int*)",
        end="RACECHECK SUMMARY: 3 hazards displayed (2 errors, 1 warning)",
    )
    assert [(found.severity, found.line) for found in read_log(text).findings] == [
        ("error", 12),
        ("error", None),
        ("warning", 48),
    ]


def test_what_the_tool_says_of_itself_is_no_finding() -> None:
    text = log("Error: Target application terminated before first instrumented API call", end="Error: no exit code.")
    assert (read_log(text).findings, read_log(text).errors) == ((), None)
    assert own_errors(text).splitlines() == [
        "Error: Target application terminated before first instrumented API call",
        "Error: no exit code.",
    ]
    assert own_errors(log(OUT_OF_BOUNDS.format(x=0))) == ""


@pytest.mark.parametrize("swapped", [False, True])
def test_reports_that_were_not_printed_are_in_the_sum(swapped: bool) -> None:
    sums = ["ERROR SUMMARY: 2048 errors", "ERROR SUMMARY: 1048 errors were not printed. Use --print-limit option"]
    text = log(OUT_OF_BOUNDS.format(x=1), end="\n========= ".join(reversed(sums) if swapped else sums))
    assert read_log(text).errors == 2048
    assert own_errors(text) == ""


def test_a_clean_log_and_none_at_all() -> None:
    assert read_log(log(end="ERROR SUMMARY: 0 errors")).errors == 0
    assert read_log("").errors is None
    assert read_log("ERROR SUMMARY: 0 errors\n").errors is None, "printed by the program"


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.text(max_size=400), st.integers(0, 600))
def test_no_text_is_too_odd(junk: str, cut: int) -> None:
    whole = log(OUT_OF_BOUNDS.format(x=5), RACE.format(level="Error"))
    for text in (junk, whole[:cut] + junk + whole[cut:], "".join(f"========= {line}\n" for line in junk.splitlines())):
        read_log(text)
        own_errors(text)
