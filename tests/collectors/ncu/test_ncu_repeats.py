"""Launches that a table says twice."""

from __future__ import annotations

import csv
import io

import pytest
from ncu_tables import DETAILS, DURATION, READ, RECORDED, codes, details_row, quoted, raw_table, read

from kprof.errors import InputFileError


def table(*rows: list[str]) -> str:
    return quoted(DETAILS, *rows)


ROWS = [details_row(DURATION, "ns", "1000"), details_row(READ, "byte", "64")]
WHOLE = {DURATION: 1000.0, READ: 64.0}


@pytest.mark.parametrize(
    "rows",
    [
        [ROWS[0], *ROWS], [*ROWS, ROWS[0]], [*ROWS, ROWS[1]], [*ROWS, *ROWS], [ROWS[0], ROWS[0], *ROWS, ROWS[0]],
    ],
)  # fmt: skip
def test_rows_that_stand_there_again_make_no_further_launch(rows: list[list[str]]) -> None:
    other = details_row(DURATION, "ns", "7", launch_id=1)
    evidence = read(table(*rows, other))
    assert [one.metrics for one in evidence.launches] == [WHOLE, {DURATION: 7.0}]
    assert set(codes(evidence)) <= {"repeated_launches"}


def test_it_is_said() -> None:
    (said,) = read(table(*ROWS, *ROWS)).warnings
    assert (said.code, said.message) == (
        "repeated_launches", "once a launch stands there again (launch 0): each counts once",
    )  # fmt: skip
    (said,) = read(table(*ROWS, *ROWS, *ROWS)).warnings
    assert "2 times" in said.message
    assert codes(read(table(*ROWS))) == []


def test_a_row_with_another_value_is_no_launch_and_refused() -> None:
    with pytest.raises(InputFileError, match=r"launch 0 twice, and not the same: gpu__time_duration\.sum is 1001"):
        read(table(details_row(DURATION, "ns", "1001"), *ROWS))


def test_a_whole_launch_with_other_values_is_of_a_further_run_and_said() -> None:
    evidence = read(table(*ROWS, details_row(DURATION, "ns", "1001"), ROWS[1], *ROWS))
    assert [one.metrics for one in evidence.launches] == [WHOLE, {**WHOLE, DURATION: 1001.0}]
    assert codes(evidence) == ["numbers_again", "repeated_launches"]


@pytest.mark.parametrize("launch", [{"launch_id": 1}, {"process": 2}, {"device": 1}, {"name": "other"}])
def test_launches_of_other_processes_devices_and_names_stay_apart(launch: dict[str, int | str]) -> None:
    again = [details_row(DURATION, "ns", "1000", **launch), details_row(READ, "byte", "64", **launch)]
    assert [one.metrics for one in read(table(*ROWS, *again)).launches] == [WHOLE, WHOLE]


def test_a_raw_page_with_a_row_twice() -> None:
    header, units, row = raw_table({DURATION: ("5",)}, ["ns"]).splitlines(keepends=True)
    evidence = read(header + units + row + row)
    assert len(evidence.launches) == 1
    assert codes(evidence) == ["repeated_launches"]
    assert codes(read(header + units + row + row.replace('"5"', '"6"'))) == ["numbers_again"]


def test_a_file_behind_itself_counts_once_and_two_runs_both() -> None:
    first, second = (raw_table({DURATION: (value,)}, ["ns"]) for value in ("5", "6"))
    assert [one.metrics[DURATION] for one in read(first + first).launches] == [5.0]
    assert set(codes(read(first + first))) == {"several_tables", "repeated_launches"}
    both = read(first + second)
    assert [one.metrics[DURATION] for one in both.launches] == [5.0, 6.0]
    assert codes(both) == ["several_tables"]


@pytest.mark.parametrize("page", ["details", "raw"])
def test_recorded_tables_with_every_line_twice_are_what_they_were(page: str) -> None:
    lines = (RECORDED / f"probes.{page}.csv").read_text().splitlines(keepends=True)
    head = 1 if page == "details" else 2
    once = read("".join(lines))
    twice = read("".join([*lines[:head], *(line for line in lines[head:] for _ in range(2))]))
    assert twice.launches == once.launches
    assert codes(twice) == [*codes(once), "repeated_launches"]
    assert next(csv.reader(io.StringIO(lines[0])))[0] == "ID"
