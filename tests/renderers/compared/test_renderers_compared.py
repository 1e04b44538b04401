"""A comparison in every format: as it was when somebody last looked, whatever names come from outside."""

from __future__ import annotations

import json
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from compared_reports import by_hand, changed, compared, fused, naive
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kprof.comparison.records import Comparison
from kprof.renderers.compared import COMPARED_FORMATS, render_compared
from kprof.renderers.compared.text import render
from kprof.renderers.layout import Style

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
import compared_goldens as goldens
import hostile

every_format = pytest.mark.parametrize("format_", COMPARED_FORMATS)


@pytest.mark.parametrize(("name", "format_"), goldens.KEPT)
def test_golden(name: str, format_: str) -> None:
    assert goldens.made(name, format_) == goldens.golden(name, format_).read_text(encoding="utf-8"), (
        "it changed; if that was meant: python tests/renderers/compared/compared_goldens.py"
    )


def test_nothing_is_kept_that_nobody_compares() -> None:
    assert {path.name for path in goldens.FOLDER.iterdir()} == {goldens.golden(*kept).name for kept in goldens.KEPT}


@pytest.mark.parametrize("name", goldens.PAIRS)
@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_page(name: str, width: int) -> None:
    for ascii_only in (False, True):
        text = render(goldens.comparison(name), width=width, ascii_only=ascii_only)
        assert all(len(line) <= width for line in text.splitlines())
        assert text.isascii() or not ascii_only


def test_what_bars_the_verdict_stands_before_it_and_no_claim_is_made() -> None:
    text = goldens.made("refused", "text")
    assert text.index("DIFFERS") < text.index("REFUSED")
    for claim in ("FASTER", "SLOWER", "better", "worse", "as fast"):
        assert claim not in text
    assert "as fast" in goldens.made("forced", "text")


@pytest.mark.parametrize("format_", ["text", "markdown", "html"])
def test_each_side_names_its_device_and_its_clock(format_: str) -> None:
    b = changed(fused(), environment__device_name="NVIDIA H100 80GB HBM3", environment__device="cuda:1")
    cpu = changed(by_hand("cpu"), environment__device_name=None)
    shown = Style().clean(render_compared(format_, compared(naive(), b, force=True), Style()))
    assert "on NVIDIA H200 (cuda:0) at 1980 MHz" in shown
    assert "on NVIDIA H100 80GB HBM3 (cuda:1) at 1980 MHz" in shown
    shown = Style().clean(render_compared(format_, compared(cpu, by_hand("cpu")), Style()))
    assert f"of {cpu.created} on cpu" in shown
    assert "on Xeon (cpu)" in shown
    assert "MHz" not in shown


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def hostile_pair(text: str) -> Comparison:
    return compared(hostile.hostile(naive(), text), hostile.hostile(fused(), text), force=True)


@every_format
@pytest.mark.parametrize("text", hostile.NAMES, ids=lambda text: repr(text)[:20])
def test_hostile_text_breaks_nothing(format_: str, text: str) -> None:
    rendered = render_compared(format_, hostile_pair(text), Style())
    if format_ == "json":
        json.loads(rendered)
        return
    assert all(char.isprintable() or char == "\n" for char in rendered)
    if format_ == "html":
        assert Page(rendered).tags == Page(render_compared("html", hostile_pair("harmless"), Style())).tags
        assert len(rendered) < 1_000_000
    if format_ == "markdown":
        assert len(rendered) < 65_000
        page = Page(MarkdownIt("commonmark", {"html": True}).enable("table").render(rendered))
        assert not {"script", "img", "a", "b", "em"} & set(page.tags)


def test_the_page_asks_nothing_of_any_network_and_runs_nothing() -> None:
    page = Page(goldens.made("faster", "html"))
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not {name for name, _ in page.attributes} & {"src", "href", "onclick", "onload"}
    assert ("http-equiv", "Content-Security-Policy") in page.attributes
    assert "lang" in dict(page.attributes)
    heads = [value for name, value in page.attributes if name == "scope"]
    assert set(heads) == {"col"}


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60))
def test_any_name_is_text_on_the_page(name: str) -> None:
    rendered = render_compared("html", hostile_pair(f"<{name}>"), Style())
    shown = " ".join("".join(char if char.isprintable() else " " for char in f"<{name}>").split())
    assert shown in " ".join(" ".join(Page(rendered).text).split())


@cache
def with_many() -> Comparison:
    return compared(naive(), hostile.many(fused(), 10_000))


@every_format
def test_ten_thousand_launches_fit(format_: str) -> None:
    rendered = render_compared(format_, with_many(), Style())
    limit = {"markdown": 65_000, "html": 1_000_000, "text": 20_000}.get(format_)
    assert limit is None or len(rendered) < limit
    if format_ != "json":
        assert "more in the" in rendered
