"""Whose call launched a kernel: from the range columns of a table, and from the ranges of a report."""

from __future__ import annotations

import pytest
from ncu_tables import DETAILS, DURATION, LAUNCH, RECORDED, details_row, launch_cells, quoted, read

from kprof.collectors.ncu.reading import read_report
from kprof.collectors.ncu.sides import side_of_cell, side_of_ranges

START_STOP = "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
PUSH_POP = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
KERNEL = '0  "<default domain>:kprof:kernel:none:none:none:none:none:none" '
REF = '1  "<default domain>:kprof:ref:none:none:none:none:none:none" '


@pytest.mark.parametrize(
    ("names", "side"),
    [
        (["kprof:kernel"], "kernel"),
        (["forward", "kprof:ref"], "ref"),
        (["kprof:ref", "kprof:ref"], "ref"),
        ([], None),
        (["kprof:kernels", "my kprof:ref", "kernel"], None),
        (["kprof:kernel", "kprof:ref"], None),
    ],
)
def test_from_the_names_of_open_ranges(names: list[str], side: str | None) -> None:
    assert side_of_ranges(names) == side


@pytest.mark.parametrize(
    ("cell", "side"),
    [
        (KERNEL, "kernel"),
        (REF, "ref"),
        ('7  "<default domain>:step:none" ' + REF, "ref"),
        ("0:<default domain>:kprof:kernel:none:none", "kernel"),
        (KERNEL + REF, None),
        ("", None),
        ('0  "mine:kprof:kernel:none:none" ', None),
        ('0  "<default domain>:kprof:kernels:none" ', None),
    ],
)
def test_from_a_cell(cell: str, side: str | None) -> None:
    assert side_of_cell(cell) == side


def test_from_the_columns_of_a_raw_page() -> None:
    header = [*LAUNCH[:4], PUSH_POP, START_STOP, *LAUNCH[4:], DURATION]
    rows = []
    for launch_id, ranges in enumerate((KERNEL, REF, "")):
        cells = launch_cells(launch_id)
        rows.append([*cells[:4], "", ranges, *cells[4:], "1"])
    launches = read(quoted(header, [*[""] * 13, "ns"], *rows)).launches
    assert [launch.side for launch in launches] == ["kernel", "ref", None]


def test_from_the_columns_of_a_details_page() -> None:
    text = quoted([*DETAILS, START_STOP], [*details_row(DURATION, "ns", "1"), REF])
    assert read(text).launches[0].side == "ref"


def test_recorded_ranges_of_others_say_nothing() -> None:
    recorded = RECORDED / "library-kernels.raw.csv"
    assert "<default domain>:matmul_bf16_8192" in recorded.read_text()
    assert {launch.side for launch in read_report(recorded).launches} == {None}
