"""Cells: numbers in ncu's spelling, and the words that it has for none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kprof.collectors.ncu.numbers import parse_cell, parse_integer, parse_triple, text_or_absence


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("53,261,312", 53261312.0),
        ("1,205.00", 1205.0),
        ("1.8e-05", 1.8e-5),
        ("3E+09", 3e9),
        ("0", 0.0),
        ("0.00", 0.0),
        (" 12 ", 12.0),
        ("-3", -3.0),
        ("150,109,880,320", 150109880320.0),
        ("1,205", 1205.0),
    ],
)
def test_numbers(text: str, value: float) -> None:
    assert parse_cell(text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1.234,56", "unparsable"),
        ("1,23", "unparsable"),
        ("0,205", "unparsable"),
        ("12,34,567", "unparsable"),
        ("1,2345", "unparsable"),
        ("1_000", "unparsable"),
        ("0x10", "unparsable"),
        ("12 ns", "unparsable"),
        ("(!) 12", "unparsable"),
        ("-", "unparsable"),
        ("\u0661\u0662", "unparsable"),
        ("PolicySpread", "unparsable"),
        ("n/a", "not_available"),
        ("N/A", "not_available"),
        ("(!) n/a", "not_available"),
        ("(!)", "not_available"),
        ("no data", "not_available"),
        ("nan", "not_a_number"),
        ("-nan", "not_a_number"),
        ("(!) nan", "not_a_number"),
        ("inf", "infinite"),
        ("-inf", "infinite"),
        ("1e999", "infinite"),
        ("", "blank"),
        ("  ", "blank"),
    ],
)
def test_no_numbers(text: str, reason: str) -> None:
    assert parse_cell(text) == reason


@given(st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_what_ncu_would_print_reads_back(value: float, grouped: bool) -> None:
    text = f"{value:,.2f}" if grouped else repr(value)
    found = parse_cell(text)
    assert found == (float(text.replace(",", "")))


@given(st.text(max_size=20))
def test_any_text_has_an_answer(text: str) -> None:
    assert isinstance(parse_cell(text), float) or parse_cell(text) in {
        "blank", "not_available", "not_a_number", "infinite", "unparsable",
    }  # fmt: skip


def test_text_metrics() -> None:
    assert text_or_absence(" NVIDIA H200 ") == ("NVIDIA H200", None)
    assert text_or_absence("(!) n/a") == (None, "not_available")
    assert text_or_absence("") == (None, "blank")


def test_sizes_and_ids() -> None:
    assert parse_triple("(256, 1, 1)") == (256, 1, 1)
    assert parse_triple("256") is None
    assert parse_integer("12") == 12
    assert [parse_integer(text) for text in ("-1", "1.0", "==PROF== 1", "", "\u0661")] == [None] * 5
