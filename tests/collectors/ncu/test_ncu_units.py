"""Units: every one that recorded reports have, every prefix, and the spellings of older releases."""

from __future__ import annotations

import csv

import pytest
from ncu_tables import RECORDED

from kprof.collectors.ncu.units import needs_no_unit, parse_unit, unit_of


@pytest.mark.parametrize(
    ("unit", "factor", "base"),
    [
        ("ns", 1, "ns"), ("nsecond", 1, "ns"), ("us", 1e3, "ns"), ("usecond", 1e3, "ns"), ("ms", 1e6, "ns"),
        ("msecond", 1e6, "ns"), ("s", 1e9, "ns"), ("second", 1e9, "ns"),
        ("byte", 1, "byte"), ("Kbyte", 1e3, "byte"), ("Mbyte", 1e6, "byte"), ("Gbyte", 1e9, "byte"),
        ("Tbyte", 1e12, "byte"), ("Pbyte", 1e15, "byte"),
        ("byte/s", 1, "byte/s"), ("byte/second", 1, "byte/s"), ("Gbyte/s", 1e9, "byte/s"), ("Tbyte/s", 1e12, "byte/s"),
        ("Gbyte/second", 1e9, "byte/s"), ("byte/ns", 1e9, "byte/s"), ("byte/us", 1e6, "byte/s"),
        ("hz", 1, "hz"), ("Khz", 1e3, "hz"), ("Mhz", 1e6, "hz"), ("Ghz", 1e9, "hz"), ("GHz", 1e9, "hz"),
        ("cycle/second", 1, "hz"), ("cycle/s", 1, "hz"), ("cycle/usecond", 1e6, "hz"), ("cycle/nsecond", 1e9, "hz"),
        ("cycle/us", 1e6, "hz"), ("cycle/ns", 1e9, "hz"),
        ("", 1, ""), ("%", 1, "%"),
        ("inst", 1, "inst"), ("Kinst", 1e3, "inst"), ("sector", 1, "sector"), ("Ksector", 1e3, "sector"),
        ("Msector", 1e6, "sector"), ("sectors", 1, "sector"), ("warp", 1, "warp"), ("cycle", 1, "cycle"),
        ("Kcycle", 1e3, "cycle"), ("Gcycle", 1e9, "cycle"), ("branches", 1, "branch"), ("pass", 1, "pass"),
        ("request", 1, "request"), ("block", 1, "block"), ("thread", 1, "thread"), ("SM", 1, "SM"),
        ("byte/block", 1, "byte/block"), ("Kbyte/block", 1e3, "byte/block"), ("byte/cycle", 1, "byte/cycle"),
        ("Kbyte/cycle", 1e3, "byte/cycle"), ("inst/cycle", 1, "inst/cycle"), ("byte/sector", 1, "byte/sector"),
        ("register/thread", 1, "register/thread"), (" us ", 1e3, "ns"),
    ],
)  # fmt: skip
def test_known(unit: str, factor: float, base: str) -> None:
    assert parse_unit(unit) == (factor, base)


@pytest.mark.parametrize(
    "unit",
    ["furlong", "Xbyte", "mbyte", "KB", "GB/s", "Kibyte", "byte/fortnight", "furlong/s", "byte/s/s", "K%", "K",
     "Xhz", "byte/Kcycle", "US", "n/a"],
)  # fmt: skip
def test_unknown(unit: str) -> None:
    assert parse_unit(unit) is None


@pytest.mark.parametrize("name", ["probes.raw.csv", "library-kernels.raw.csv", "probes.details.csv"])
def test_every_recorded_unit_is_known(name: str) -> None:
    with (RECORDED / name).open(newline="") as stream:
        header, first, *rest = list(csv.reader(stream))
    units = {row[header.index("Metric Unit")] for row in rest} if "Metric Unit" in header else set(first)
    assert len(units) > 10
    assert {unit for unit in units if parse_unit(unit) is None} == set()


def test_recorded_prefixes_are_decimal() -> None:
    with (RECORDED / "probes.details.csv").open(newline="") as stream:
        rows = [row for row in csv.reader(stream) if "Shared Memory Configuration Size" in row]
    unit, shown = rows[0][13:15]
    assert (unit, shown) == ("Kbyte", "32.77")
    known = parse_unit(unit)
    assert known is not None
    assert float(shown) * known.factor == pytest.approx(32 * 1024, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "free"),
    [
        ("sm__warps_active.avg.pct_of_peak_sustained_active", True),
        ("l1tex__t_sector_hit_rate.pct", True),
        ("sm__maximum_warps_per_active_cycle_pct", True),
        ("launch__registers_per_thread", True),
        ("launch__grid_size", True),
        ("device__attribute_multiprocessor_count", True),
        ("launch__shared_mem_per_block_static", False),
        ("launch__shared_mem_config_size", False),
        ("gpu__time_duration.sum", False),
        ("dram__bytes_read.sum", False),
        ("smsp__inst_executed.sum", False),
    ],
)
def test_names_that_need_no_unit(name: str, free: bool) -> None:
    assert needs_no_unit(name) is free


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("dram__bytes_read.sum", "sector"), ("dram__bytes_read.sum", "bit"), ("dram__bytes_read.sum", "ns"),
        ("gpu__time_duration.sum", "byte"), ("gpu__time_duration.sum", "%"), ("gpu__time_duration.sum", ""),
        ("sm__inst_issued.avg.pct_of_peak_sustained_elapsed", "Kbyte"), ("lts__t_sectors.sum", "byte"),
        ("gpc__cycles_elapsed.avg.per_second", "byte"), ("launch__grid_size", "ns"),
    ],
)  # fmt: skip
def test_a_unit_of_something_else_is_none(name: str, unit: str) -> None:
    """Sectors read as bytes would be 32 times too few."""
    assert parse_unit(unit) is not None
    assert unit_of(name, unit) is None
