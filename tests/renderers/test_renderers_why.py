"""No summary shows a bare code: a sentence stands before it, or it is in words."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from kprof.evidence import Reason
from kprof.renderers import render_as
from kprof.renderers.layout import Style
from kprof.renderers.why import because, null_cell, sentence

sys.path.insert(0, str(Path(__file__).parent))
import goldens

BARE = re.compile(r"(?:not known|not measured|no speedup|no interval|told apart):? ?\(?([a-z]+(?:_[a-z]+)+)\b")


@pytest.mark.parametrize("name", goldens.NAMES)
@pytest.mark.parametrize("format_", ["text", "markdown"])
def test_no_code_stands_for_a_sentence(name: str, format_: str) -> None:
    text = render_as(format_, goldens.report(name), Style())
    assert isinstance(text, str)
    text = " ".join(text.replace("\\_", "_").replace("\\(", "(").split())
    assert BARE.findall(text) == []
    codes = {code for block in goldens.report(name).blocks.__struct_fields__
             for code in getattr(goldens.report(name).blocks, block).reasons.values()}  # fmt: skip
    in_cells = [line for line in text.split("|") if line.strip() in codes and "_" in line]
    assert in_cells == []


def test_a_page_says_why_behind_each_code() -> None:
    page = render_as("html", goldens.report("cpu"), Style())
    assert isinstance(page, str)
    assert '<span class="na" title="the run was on the CPU">no device</span>' in page


class Block:
    """One with a reason, a warning and codes of nulls."""

    reason = Reason(code="timeout", message="no answer for 60 s")
    warnings = (Reason(code="odd_clock", message="the clock went backwards"),)
    reasons = {"a": "no_device"}  # noqa: RUF012


def test_the_sentence_is_the_blocks_own_or_the_codes() -> None:
    assert because("timeout", Block()) == "no answer for 60 s (timeout)"
    assert because("odd_clock", Block()) == "the clock went backwards (odd_clock)"
    assert because("no_device", Block()) == "the run was on the CPU (no_device)"
    assert because("never_heard_of", Block()) == "never heard of"
    assert sentence("no_reference") == "no reference was given"
    assert (null_cell(Block(), "a"), null_cell(Block(), "b")) == ("no device", "null")
