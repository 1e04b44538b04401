"""One row a launch, read back by pandas without being told anything."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kprof.renderers.csv import columns, render
from kprof.report import Report

sys.path.insert(0, str(Path(__file__).parent))
import goldens
import hostile

EXAMPLE = goldens.report("counters")
IMPORTED = goldens.report("imported")


@pytest.fixture(scope="module")
def pandas() -> Any:
    with pytest.MonkeyPatch.context() as patched:
        # pandas looks for a library of this name, and would find the folder tests/bottleneck.
        patched.setitem(sys.modules, "bottleneck", None)
        return pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def read(pandas: Any) -> Any:
    return lambda report: pandas.read_csv(io.StringIO(render(report)))


def named(report: Report, name: str) -> Report:
    kernels = (msgspec.structs.replace(one, name=name, full_name=name) for one in report.kernels)
    return msgspec.structs.replace(report, kernels=tuple(kernels))


def given_back(cell: str) -> str:
    """The name that a cell was made of."""
    return cell.removeprefix("'")


def escaped(name: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in name)


@pytest.mark.parametrize("report", [EXAMPLE, IMPORTED], ids=["measured", "imported"])
def test_numbers_come_back_as_they_are_in_the_report(read: Any, report: Report) -> None:
    frame = read(report)
    assert len(frame) == len(report.kernels)
    for launch, (_, row) in zip(report.kernels, frame.iterrows(), strict=True):
        assert row["id"] == launch.id
        assert row["name"] == launch.name
        assert row["full_name"] == launch.full_name
        assert row["duration_us"] == launch.duration_us
        assert launch.sol is not None
        assert launch.roofline is not None
        assert launch.bottleneck is not None
        assert row["sol_score"] == launch.sol.score
        assert row["roofline_dram_bandwidth_gbs"] == launch.roofline.dram_bandwidth_gbs
        assert row["bottleneck_family"] == launch.bottleneck.family
        assert tuple(row[f"grid_{axis}"] for axis in "xyz") == launch.grid
        assert row["roofline_tensor_tflops_bf16"] == (launch.roofline.tensor_tflops or {}).get("bf16", 0.0)
        assert launch.stalls is not None
        shares = {one.reason: one.share_pct for one in launch.stalls.all or ()}
        assert row["stalls_share_pct_wait"] == shares["wait"]


def test_every_column_is_of_one_type(read: Any) -> None:
    for report in (EXAMPLE, IMPORTED):
        frame = read(report)
        for name in frame.columns:
            kinds = {type(value) for value in frame[name].dropna()}
            assert len(kinds) <= 1, (name, kinds)
        numbers = set(frame.select_dtypes("number").columns)
        assert {"id", "grid_x", "duration_us", "sol_score", "occupancy_registers_per_thread"} <= numbers


@pytest.mark.parametrize("name", goldens.NAMES)
def test_columns_are_the_same_whatever_the_report_holds(read: Any, name: str) -> None:
    report = goldens.report(name)
    frame = read(report)
    assert tuple(frame.columns) == columns()
    assert len(frame) == len(report.kernels)


def test_a_name_bears_its_unit() -> None:
    for name in columns():
        if name.startswith(("grid_", "block_")):
            continue
        assert not name.endswith(("_time", "_bandwidth", "_clock", "_rate", "_duration", "_size_")), name
    assert len(set(columns())) == len(columns())


def test_nulls_are_empty_and_their_reasons_beside_them(read: Any) -> None:
    report = msgspec.structs.replace(
        EXAMPLE,
        kernels=(
            EXAMPLE.kernels[0],
            msgspec.structs.replace(EXAMPLE.kernels[1], sol=None, duration_us=None, reasons={"sol": "not_profiled"}),
        ),
    )
    frame = read(report)
    assert frame["sol_reason_code"].tolist()[1] == "not_profiled"
    assert frame["sol_score"].isna().tolist() == [False, True]
    assert frame["duration_us"].dtype == float


@pytest.mark.parametrize(
    "name", [*hostile.NAMES, "NA", "null", "None", "1e5", "007", "true", "'quoted", "-inf", 'a,b"c']
)
def test_hostile_names_come_back(read: Any, name: str) -> None:
    frame = read(named(EXAMPLE, name))
    assert len(frame) == len(EXAMPLE.kernels)
    assert {given_back(cell) for cell in frame["name"]} == {escaped(name)}
    assert tuple(frame.columns) == columns()


@settings(max_examples=150, deadline=None)
@given(name=st.text(st.characters() | st.sampled_from("=+-@'\",\n\r\t0123456789eE.naN \x00\u202e"), max_size=30))
def test_any_name_comes_back(read: Any, name: str) -> None:
    frame = read(named(EXAMPLE, name))
    assert {given_back(cell) for cell in frame["name"]} == {escaped(name)}


@settings(max_examples=200, deadline=None)
@given(name=st.text(max_size=30))
@example(name='"=')  # A quote first: text, whatever follows.
def test_no_cell_is_run_by_a_spreadsheet_and_a_row_is_a_line(name: str) -> None:
    text = render(named(EXAMPLE, name))
    assert len(text.splitlines()) == len(EXAMPLE.kernels) + 1
    assert text.isprintable() or set(text) - {"\n"} == {char for char in text if char.isprintable()}
    for line in text.splitlines()[1:]:
        (cells,) = csv.reader([line])
        assert not cells[1].startswith(("=", "+", "-", "@"))
