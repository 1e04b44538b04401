"""Tables in text: noise round them, both pages, units, and the words for no value."""

from __future__ import annotations

import csv

import pytest
from ncu_tables import (
    BY_NAME,
    DETAILS,
    DURATION,
    LAUNCH,
    READ,
    codes,
    details_row,
    launch_cells,
    quoted,
    raw_table,
    read,
)

from kprof.collectors.ncu.csv_file import read_csv_text
from kprof.counters.resolve import DEVICE_NAME
from kprof.errors import InputFileError

OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
HEADER = quoted(DETAILS)
NOISY = f"""==WARNING== Unable to deploy section files to /home/user/Documents
loss, 0.1, "ID"
==PROF== Profiling "k" - 0: 0%....50%....100% - 9 passes
{HEADER}"0","1","python","h","k","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0","s","gpu__time_duration.sum","ns","1,205"
hello from kernel.py
"0","1","python","h","k","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0","s","{OCCUPANCY}","%","12.5"
==PROF== Disconnected from process 1
"""


def test_noise_before_inside_and_after() -> None:
    evidence = read(NOISY)
    assert len(evidence.launches) == 1
    launch = evidence.launches[0]
    assert launch.metrics == {DURATION: 1205.0, OCCUPANCY: 12.5}
    assert (launch.launch_id, launch.process_id, launch.device, launch.compute_capability) == (0, 1, 0, "9.0")
    assert (launch.grid, launch.block, launch.name) == ((64, 1, 1), (256, 1, 1), "k")
    assert codes(evidence) == ["noise_lines"]
    assert evidence.warnings[0].message.startswith("5 lines ")


@pytest.mark.parametrize("text", ["", "\n\n", "hello\nworld\n", 'loss, 0.1, "ID"\n', '"ID","Kernel"\n"0","k"\n'])
def test_no_header_is_an_error_that_says_so(text: str) -> None:
    with pytest.raises(InputFileError, match="columns ID and Kernel Name") as caught:
        read(text)
    assert "--page raw" in caught.value.hint


def test_a_header_without_rows_has_no_launches() -> None:
    assert read(HEADER).launches == ()


def test_windows_line_ends_and_a_byte_order_mark() -> None:
    plain = read(NOISY)
    assert read("\ufeff" + NOISY.replace("\n", "\r\n")).launches == plain.launches
    assert read_csv_text(NOISY.splitlines(), "x").launches == plain.launches


def test_columns_are_told_by_name_wherever_they_stand() -> None:
    rows = [[*DETAILS][::-1], details_row(DURATION, "us", "2")[::-1]]
    assert read(quoted(*rows)).launches[0].metrics == {DURATION: 2000.0}


def test_unquoted_tables_are_read() -> None:
    text = f"ID,Kernel Name,{DURATION},{OCCUPANCY}\n,,us,%\n0,k,12.5,25.0\n"
    assert read(text).launches[0].metrics == {DURATION: 12500.0, OCCUPANCY: 25.0}


def test_a_header_behind_last_words_without_a_line_end() -> None:
    evidence = read("step 10: loss 0.1" + NOISY[NOISY.index('"ID","Process') :])
    assert evidence.launches[0].metrics[DURATION] == 1205.0


def test_raw_and_details_agree() -> None:
    raw = read(raw_table({DURATION: ("12.5",), OCCUPANCY: ("25.0",)}, ["us", "%"]))
    details = read(quoted(DETAILS, details_row(DURATION, "us", "12.5"), details_row(OCCUPANCY, "%", "25.0")))
    assert raw.launches == details.launches
    assert raw.launches[0].metrics == {DURATION: 12500.0, OCCUPANCY: 25.0}
    assert (raw.format, details.format) == ("ncu_csv_raw", "ncu_csv_details")


def test_the_row_of_units_is_no_launch() -> None:
    evidence = read(raw_table({DURATION: ("1", "2")}, ["ns"]))
    assert [launch.launch_id for launch in evidence.launches] == [0, 1]
    counts_only = read(raw_table({"launch__grid_size": ("64",)}, [""]))
    assert len(counts_only.launches) == 1
    assert codes(counts_only) == []


def test_units_move_from_row_to_row() -> None:
    rows = [
        details_row(DURATION, "usecond", "41.28"),
        details_row(READ, "Mbyte", "2.5"),
        details_row("dram__bytes.sum.per_second", "Gbyte/s", "3"),
        details_row(DURATION, "us", "43.52", launch_id=1),
        details_row(READ, "Kbyte", "640", launch_id=1),
        details_row("dram__bytes.sum.per_second", "Tbyte/s", "3", launch_id=1),
        details_row("smsp__inst_executed.sum", "", "7", launch_id=1),
    ]
    first, second = read(quoted(DETAILS, *rows)).launches
    assert first.metrics == {DURATION: 41280.0, READ: 2.5e6, "dram__bytes.sum.per_second": 3e9}
    assert second.metrics == {
        DURATION: 43520.0, READ: 640e3, "dram__bytes.sum.per_second": 3e12, "smsp__inst_executed.sum": 7.0,
    }  # fmt: skip


def test_a_further_row_of_units_holds_from_there() -> None:
    table = raw_table({DURATION: ("5",)}, ["us"]) + quoted([*[""] * len(LAUNCH), "ms"], [*launch_cells(1), "5"])
    assert [launch.metrics[DURATION] for launch in read(table).launches] == [5e3, 5e6]


@pytest.mark.parametrize("page", ["raw", "details"])
def test_an_unknown_unit_is_named_and_its_value_left_out(page: str) -> None:
    if page == "raw":
        text = raw_table({READ: ("5", "6"), DURATION: ("1", "1")}, ["furlong", "ns"])
    else:
        rows = [details_row(READ, "furlong", "5", launch_id=launch) for launch in (0, 1)]
        text = quoted(DETAILS, *rows)
    evidence = read(text)
    assert all(launch.absent == {READ: "unknown_unit"} and READ not in launch.metrics for launch in evidence.launches)
    assert codes(evidence) == ["unknown_unit"]
    assert "furlong" in evidence.warnings[0].message
    assert READ in evidence.warnings[0].message


def test_without_units_only_what_needs_none_is_kept() -> None:
    names = {DURATION: ("12.5",), OCCUPANCY: ("25.0",), "launch__registers_per_thread": ("32",), READ: ("n/a",),
             "launch__shared_mem_per_block_static": ("1.02",)}  # fmt: skip
    kept = {OCCUPANCY: 25.0, "launch__registers_per_thread": 32.0}
    absent = {DURATION: "unknown_unit", "launch__shared_mem_per_block_static": "unknown_unit", READ: "not_available"}
    raw = read(raw_table(names))
    header = [name for name in DETAILS if name != "Metric Unit"]
    rows = [[*launch_cells(), BY_NAME, name, value] for name, (value,) in names.items()]
    details = read(quoted(header, *rows))
    for evidence in (raw, details):
        assert evidence.launches[0].metrics == kept
        assert evidence.launches[0].absent == absent
        assert codes(evidence) == ["units_missing"]


@pytest.mark.parametrize(
    ("cell", "reason"),
    [("n/a", "not_available"), ("(!) n/a", "not_available"), ("no data", "not_available"), ("nan", "not_a_number"),
     ("(!) nan", "not_a_number"), ("inf", "infinite"), ("", "blank"), ("1,23", "unparsable")],
)  # fmt: skip
def test_no_value_has_its_reason_and_never_a_number(cell: str, reason: str) -> None:
    raw = read(raw_table({READ: (cell,), DURATION: ("0",)}, ["byte", "ns"]))
    details = read(quoted(DETAILS, details_row(READ, "byte", cell), details_row(DURATION, "ns", "0")))
    for evidence in (raw, details):
        assert evidence.launches[0].absent == {READ: reason}
        assert evidence.launches[0].metrics == {DURATION: 0.0}
    assert codes(raw) == (["unparsable_values"] if reason == "unparsable" else [])


def test_a_file_of_nothing_but_na_still_has_its_launches() -> None:
    launch = read(raw_table({READ: ("n/a",), DURATION: ("n/a",)}, ["", ""])).launches[0]
    assert launch.metrics == {}
    assert set(launch.absent) == {READ, DURATION}


def test_the_board_is_text() -> None:
    launch = read(raw_table({DEVICE_NAME: ("NVIDIA H200",)}, [""])).launches[0]
    assert launch.metrics == {DEVICE_NAME: "NVIDIA H200"}
    assert read(raw_table({DEVICE_NAME: ("n/a",)}, [""])).launches[0].absent == {DEVICE_NAME: "not_available"}


def test_only_metrics_that_analysis_reads_are_kept() -> None:
    launch = read(raw_table({"smsp__zork.sum": ("1",), "inst_executed": ("n/a",), DURATION: ("1",)}, ["", "", "ns"]))
    assert launch.launches[0].metrics == {DURATION: 1.0}
    assert launch.launches[0].absent == {}


NAMES = [
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, at::detail::Array<char*, 1> >"
    "(int, T2, T3)",
    "combineKernel<Layout::DISPATCH>(float*)",
    'void (anonymous namespace)::k<(int)4>(float*, "x")',
    "operator==<A>",
    "triton_poi_fused_add_0",
    "_Z1kPf",
    "lambda [](int) -> void",
    "k" * 200_000,
    "k<\"a,b\", 'c'>(int)",
    "two\nlines, 4, and 5>(int)",
    "  spaced  ",
    "\u00fcn\u00efc\u00f6de<\u4e2d>",
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:20])
@pytest.mark.parametrize("page", ["raw", "details"])
def test_names_round_trip_unchanged(name: str, page: str) -> None:
    limit = csv.field_size_limit()
    after = launch_cells(1, "after")
    if page == "raw":
        text = quoted([*LAUNCH, DURATION], [*[""] * 11, "ns"], [*launch_cells(0, name), "1"], [*after, "2"])
    else:
        rows = [
            details_row(DURATION, "ns", "1", name=name),
            details_row(DURATION, "ns", "2", launch_id=1, name="after"),
        ]
        text = quoted(DETAILS, *rows)
    evidence = read(text)
    assert [(launch.name, launch.metrics[DURATION]) for launch in evidence.launches] == [(name, 1.0), ("after", 2.0)]
    assert codes(evidence) == []
    assert csv.field_size_limit() == limit


def test_processes_and_devices_with_equal_ids_stay_apart() -> None:
    rows = [
        details_row(DURATION, "ns", "1"),
        details_row(DURATION, "ns", "2", process=2),
        details_row(DURATION, "ns", "3", device=1),
        details_row(OCCUPANCY, "%", "10"),
        details_row(OCCUPANCY, "%", "20", process=2),
        details_row(OCCUPANCY, "%", "30", device=1),
    ]
    found = [
        (launch.process_id, launch.device, launch.metrics[DURATION], launch.metrics[OCCUPANCY])
        for launch in read(quoted(DETAILS, *rows)).launches
    ]
    assert found == [(1, 0, 1.0, 10.0), (2, 0, 2.0, 20.0), (1, 1, 3.0, 30.0)]


def test_same_named_launches_stay_apart() -> None:
    launches = read(raw_table({DURATION: ("1", "2", "1")}, ["ns"])).launches
    assert [launch.metrics[DURATION] for launch in launches] == [1.0, 2.0, 1.0]


def test_two_reports_in_one_file_are_further_launches() -> None:
    table = raw_table({DURATION: ("1",)}, ["ns"]) + raw_table({DURATION: ("2",)}, ["us"])
    evidence = read(table)
    assert [launch.metrics[DURATION] for launch in evidence.launches] == [1.0, 2000.0]
    assert [launch.launch_id for launch in evidence.launches] == [0, 0]
    assert codes(evidence) == ["several_tables"]


def test_details_put_together_without_a_header_are_further_launches() -> None:
    one = [details_row(DURATION, "ns", "1"), details_row(OCCUPANCY, "%", "10")]
    other = [details_row(DURATION, "ns", "2"), details_row(OCCUPANCY, "%", "20")]
    launches = read(quoted(DETAILS, *one, *other)).launches
    assert [launch.metrics for launch in launches] == [
        {DURATION: 1.0, OCCUPANCY: 10.0},
        {DURATION: 2.0, OCCUPANCY: 20.0},
    ]


def test_rows_that_do_not_fit_keep_the_launch_and_no_value() -> None:
    cut = raw_table({DURATION: ("1", "2"), READ: ("3", "4")}, ["ns", "byte"]).rstrip("\n")
    evidence = read(cut.rpartition(",")[0] + "\n")
    assert evidence.launches[0].metrics == {DURATION: 1.0, READ: 3.0}
    assert evidence.launches[1].metrics == {}
    assert evidence.launches[1].absent == {DURATION: "unparsable", READ: "unparsable"}
    assert codes(evidence) == ["broken_rows"]


def test_half_a_number_is_no_number() -> None:
    table = quoted(DETAILS, details_row(OCCUPANCY, "%", "12"), details_row(DURATION, "ns", "1205"))
    evidence = read(table[: table.index("1205") + 2])
    assert evidence.launches[0].metrics == {OCCUPANCY: 12.0}
    assert codes(evidence) == ["broken_rows"]


def test_a_quote_that_nobody_closes_swallows_no_rows() -> None:
    rows = raw_table({DURATION: ("1", "2", "3")}, ["ns"]).splitlines(keepends=True)
    rows[3] = rows[3].replace('"1","7"', '"1","7', 1)
    evidence = read("".join(rows))
    assert [launch.metrics[DURATION] for launch in evidence.launches] == [1.0, 3.0]
    assert codes(evidence) == ["noise_lines"]


@pytest.mark.parametrize("noise", [',"', '5,"abc', '"7","', '"', '"ID,'])
def test_open_quotes_before_the_units_swallow_nothing(noise: str) -> None:
    lines = raw_table({DURATION: ("1", "2")}, ["us"]).splitlines()
    launches = read("\n".join([lines[0], noise, *lines[1:], noise])).launches
    assert [launch.metrics for launch in launches] == [{DURATION: 1e3}, {DURATION: 2e3}]


def test_noise_that_looks_like_numbers_is_no_launch() -> None:
    table = raw_table({DURATION: ("1",)}, ["ns"])
    evidence = read(table + "3, 0.5, 0.1, 0.2, 0.7, 0.8\n7,8\n" + '"unfinished\n' + quoted([*launch_cells(1), "2"]))
    assert [launch.metrics[DURATION] for launch in evidence.launches] == [1.0, 2.0]
    assert evidence.warnings[0].message.startswith("3 lines ")


def test_sizes_from_metrics_where_the_page_has_no_column_for_them() -> None:
    header = ["ID", "Kernel Name", *(f"launch__{kind}_dim_{axis}" for kind in ("grid", "block") for axis in "xyz")]
    launch = read(quoted(header, [""] * 8, ["0", "k", "1,056", "2", "1", "256", "1", "1"])).launches[0]
    assert (launch.grid, launch.block) == ((1056, 2, 1), (256, 1, 1))
    assert (launch.process_id, launch.device, launch.compute_capability) == (None, None, None)
