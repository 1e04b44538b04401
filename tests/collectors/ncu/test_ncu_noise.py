"""Whatever stands between the rows or wherever a file ends: values are right, or not there."""

from __future__ import annotations

import contextlib
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st
from ncu_tables import RECORDED, launch_cells, quoted, read

from kprof.counter_evidence import CountersEvidence
from kprof.errors import InputFileError

METRICS = ("gpu__time_duration.sum", "dram__bytes_read.sum", "smsp__inst_executed.sum", "launch__grid_size")


@cache
def narrow(page: str) -> tuple[str, CountersEvidence]:
    """The first launches of a recorded page, some metrics wide, and what it holds."""
    if page == "details":
        lines = (RECORDED / "probes.details.csv").read_text().splitlines(keepends=True)
        text = "".join(lines[:40] + lines[100:140])
    else:
        rows = [launch_cells(number, f'k<{number}, "a">(int)') for number in range(4)]
        header = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size",
                  "Grid Size", "Device", "CC", *METRICS]  # fmt: skip
        values = [[f"{1234.5 * (row + 1):,.2f}" for _ in METRICS] for row in range(4)]
        units = [*[""] * 11, "usecond", "Kbyte", "inst", ""]
        text = quoted(header, units, *([*cells, *row] for cells, row in zip(rows, values, strict=True)))
    return text, read(text)


NOISE = st.one_of(
    st.sampled_from(
        [
            "==PROF== Disconnected from process 1", '==PROF== Profiling "k" - 0: 0%....50%....100% - 9 passes',
            'loss, 0.1, "ID"', '"unfinished', "1,2,3", '"a","b","c"', "3.5", '0.1, "x" , 7', ",", '""', "==ERROR== n/a",
            "\x00\x07 binary", "\u00fcml\u00e4ut, \u4e2d",
        ]
    ),
    st.text(alphabet=st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=60),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(page=st.sampled_from(["raw", "details"]), noise=st.lists(st.tuples(st.integers(0, 100), NOISE), max_size=6))
def test_noise_between_rows_changes_no_value(page: str, noise: list[tuple[int, str]]) -> None:
    text, expected = narrow(page)
    lines = text.splitlines(keepends=True)
    for place, line in noise:
        lines.insert(place % (len(lines) + 1), line + "\n")
    assert read("".join(lines)).launches == expected.launches


@settings(max_examples=200, deadline=None)
@given(page=st.sampled_from(["raw", "details"]), data=st.data())
def test_a_file_cut_anywhere_holds_no_wrong_value(page: str, data: st.DataObject) -> None:
    text, expected = narrow(page)
    end = data.draw(st.integers(0, len(text)))
    try:
        found = read(text[:end])
    except InputFileError:
        return
    assert len(found.launches) <= len(expected.launches)
    for launch, whole in zip(found.launches, expected.launches, strict=False):
        assert launch.metrics.items() <= whole.metrics.items()


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from('"ID,KernlNam 0123\n\r%nsx(!)/.-'), max_size=300))
def test_any_text_is_read_or_refused(tail: str) -> None:
    read(narrow("raw")[0] + tail)
    with contextlib.suppress(InputFileError):
        read(tail)
