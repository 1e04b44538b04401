"""Markdown for a comment: what a forge makes of it holds the text as it was, and nothing that the text asked for."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kprof.renderers.markdown import MOST_BYTES, render
from kprof.renderers.markup import code, fenced, inline, item
from kprof.report import Report

sys.path.insert(0, str(Path(__file__).parent))
import goldens
import hostile

FORGE = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OURS = {
    "details", "summary", "code", "br", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "strong", "ul", "li",
    "pre",
}  # fmt: skip
LINKED = re.compile(r"[@#]\w|://|www\.|\bGH-\d", re.IGNORECASE)
EXAMPLE = goldens.report("counters")


class Page(HTMLParser):
    """The elements of a page, and its text inside and outside of code."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text: list[str] = []
        self.outside: list[str] = []
        self.cells: list[int] = []
        self._code = 0
        self.feed(FORGE.render(markdown))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self._code += tag == "code"
        if tag == "tr":
            self.cells.append(0)
        if tag in ("td", "th"):
            self.cells[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag == "code"

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if not self._code:
            self.outside.append(data)


def page(markdown: str) -> Page:
    made = Page(markdown)
    assert set(made.tags) <= OURS
    assert set(made.attributes) <= {"style", "class"}  # of the alignment of a column, and of a fence's language
    assert not LINKED.search("".join(made.outside))
    return made


def counted(made: Page) -> list[str]:
    return [tag for tag in made.tags if tag in ("details", "summary", "table", "tr", "td", "th", "li", "pre")]


@pytest.mark.parametrize("name", goldens.NAMES)
def test_every_run_is_small_and_well_formed(name: str) -> None:
    text = goldens.made(name, "markdown")
    assert len(text.encode()) < MOST_BYTES
    made = page(text)
    assert text.startswith("### ")
    assert made.tags.count("details") == text.count("<details>") == text.count("</details>")


def test_the_verdict_stands_above_what_is_folded() -> None:
    text = render(EXAMPLE)
    assert text.index("**RIGHT**") < text.index("**SPEEDUP**") < text.index("**BOUND**") < text.index("<details>")
    assert "8.748x (95 %: 8.739x to 8.757x)" in text


@pytest.mark.parametrize("text", [one for one in hostile.NAMES if one.strip()], ids=lambda text: repr(text)[:20])
def test_hostile_text_changes_no_structure(text: str) -> None:
    harmless, made = page(render(hostile.hostile(EXAMPLE, "harmless"))), page(render(hostile.hostile(EXAMPLE, text)))
    assert counted(made) == counted(harmless)
    assert made.cells == harmless.cells


words = st.text(
    st.sampled_from("a1|`\\<>&*_~#@![](){}$:.-+=/ \n\t\x1b\u202e\u00e9\u4e2d'\"") | st.characters(), max_size=40
)


@settings(max_examples=300, deadline=None)
@given(words)
def test_any_text_reads_as_it_was(text: str) -> None:
    cleaned = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    made = page(f"| a | b |\n| --- | --- |\n| {inline(text)} | {code(text)} |\n\n{item(text)}\n")
    assert made.cells == [2, 2]
    assert made.tags.count("li") == 1
    read = " ".join("".join(made.text).split())
    assert read == " ".join(f"a b {cleaned} {cleaned} {cleaned}".split())


@settings(max_examples=200, deadline=None)
@given(st.lists(words, max_size=4))
def test_no_output_ends_its_fence(lines: list[str]) -> None:
    made = Page(f"{fenced(lines)}\n\nafter\n")
    assert made.tags == ["pre", "code", "p"]
    assert "".join(made.outside).strip() == "after"


@pytest.mark.parametrize("count", [40, 200, 10_000])
@pytest.mark.parametrize("text", ["k", "<" * 20_000, "\u4e2d" * 20_000])
def test_any_number_of_launches_fits_a_comment(count: int, text: str) -> None:
    report: Report = hostile.many(hostile.hostile(EXAMPLE, text), count)
    made = render(report)
    assert len(made) < 65_000
    rows = made.count("| <code>kernel")
    if rows < count:
        assert f"{count - rows:,} more rows in the report." in made
    assert rows >= 40 or rows == count
    page(made)


def test_what_is_cut_is_what_took_least_time() -> None:
    report = hostile.many(EXAMPLE, 10_000)
    made = render(report)
    longest = max(report.kernels, key=lambda one: one.duration_us or 0.0)
    assert longest.name in made
