"""Whatever a name, a log or a path holds: each format says it, and none does what it says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kprof.renderers import FORMATS, render_as
from kprof.renderers.layout import Style
from kprof.renderers.text import render

sys.path.insert(0, str(Path(__file__).parent))
import goldens
import hostile

EXAMPLE = goldens.report("counters")
TEXTUAL = [name for name, one in FORMATS.items() if not one.binary]


@pytest.mark.parametrize("text", hostile.NAMES, ids=lambda text: repr(text)[:20])
@pytest.mark.parametrize("format_", TEXTUAL)
def test_nothing_raises_and_no_control_character_gets_through(format_: str, text: str) -> None:
    rendered = render_as(format_, hostile.hostile(EXAMPLE, text), Style())
    assert isinstance(rendered, str)
    rendered.encode()
    if format_ != "json":  # which escapes control characters, and leaves the rest to its readers
        assert all(char.isprintable() or char == "\n" for char in rendered), format_
    assert "\x1b" not in rendered


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
@pytest.mark.parametrize("width", [40, 80])
def test_text_stays_on_its_page(width: int, text: str) -> None:
    report = hostile.hostile(EXAMPLE, text)
    for ascii_only in (False, True):
        rendered = render(report, width=width, ascii_only=ascii_only)
        assert all(len(line) <= width for line in rendered.splitlines())
        assert all(char.isprintable() or char == "\n" for char in rendered)
        assert rendered.isascii() or not ascii_only


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_json_holds_it_as_it_was(text: str) -> None:
    rendered = render_as("json", hostile.hostile(EXAMPLE, text), Style())
    assert json.loads(rendered)["kernels"][0]["full_name"] == text


def test_a_name_of_20_000_characters_makes_no_page_long() -> None:
    plain, long = (render(hostile.hostile(EXAMPLE, "x" * length)).count("\n") for length in (20, 20_000))
    assert long <= plain + 80
    assert msgspec.json.encode(EXAMPLE)
