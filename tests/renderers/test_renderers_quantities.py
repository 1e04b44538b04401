"""Numbers with units: every prefix, both sides of every border."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kprof.renderers import quantities


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0.0, "0 us"),
        (0.0005, "0.5000 ns"),
        (0.032, "32.00 ns"),
        (0.9994, "999.4 ns"),
        (0.99996, "1.000 us"),
        (1.0, "1.000 us"),
        (1.18, "1.180 us"),
        (28.0, "28.00 us"),
        (235.6, "235.6 us"),
        (999.94, "999.9 us"),
        (999.96, "1.000 ms"),
        (1390.0, "1.390 ms"),
        (999_960.0, "1.000 s"),
        (65_000_000.0, "65.00 s"),
        (12_345_600_000.0, "12346 s"),
        (-3.5, "-3.500 us"),
    ],
)
def test_duration(us: float, text: str) -> None:
    assert quantities.duration(us) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (999, "999 B"),
        (1000, "1.000 kB"),
        (1280, "1.280 kB"),
        (999_960, "1.000 MB"),
        (33_010_000, "33.01 MB"),
        (536_900_000, "536.9 MB"),
        (1_500_000_000, "1.500 GB"),
        (2_000_000_000_000, "2.000 TB"),
        (-2048, "-2.048 kB"),
    ],
)
def test_size(count: int, text: str) -> None:
    assert quantities.size(count) == text


def test_size_from_mb_is_decimal() -> None:
    assert quantities.size_from_mb(0.001536) == "1.536 kB"
    assert quantities.size_from_mb(1.0) == "1.000 MB"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (11.04, "11.0x"),
        (0.0833, "0.0833x"),
        (1.0, "1.00x"),
        (1234.5, "1,230x"),
        (9.996, "10.0x"),
        (8.64e6, "8,640,000x"),
    ],
)
def test_factor(ratio: float, text: str) -> None:
    assert quantities.factor(ratio) == text


def test_factor_with_more_digits() -> None:
    assert quantities.factor(11.04, 4) == "11.04x"


@pytest.mark.parametrize(("value", "text"), [(4.7699e-07, "4.77e-07"), (0.0, "0"), (0.01, "0.01"), (12.3456, "12.3")])
def test_error_keeps_its_exponent(value: float, text: str) -> None:
    assert quantities.error(value) == text


def test_the_others() -> None:
    assert quantities.percent(0.4523) == "0.452 %"
    assert quantities.seconds(0.6) == "600.0 ms"
    assert quantities.extent((2, 1, 1)) == "2"
    assert quantities.extent((16, 4, 1)) == "16x4"
    assert quantities.extent((16, 1, 4)) == "16x1x4"
    assert quantities.shape((4, 10, 32)) == "(4, 10, 32)"
    assert quantities.shape((4,)) == "(4,)"
    assert quantities.shape(()) == "()"
    assert quantities.value(2.5000005) == "2.5"


@given(st.floats(1e-3, 1e12))
def test_no_duration_above_a_nanosecond_loses_its_digits(us: float) -> None:
    number, unit = quantities.duration(us).split()
    scale = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}[unit]
    assert float(number) * scale == pytest.approx(us, rel=5.1e-4)
    assert len(number.replace(".", "").lstrip("0")) >= 4
