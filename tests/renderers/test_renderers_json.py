"""The JSON renderer."""

from __future__ import annotations

import json

import captures
import pytest

from kprof.renderers.json import render, render_json
from kprof.report import build_report


def test_lists_of_numbers_stay_on_one_line_and_the_rest_is_indented() -> None:
    text = render_json({"a": [1, -2.5, 1e-7, None], "b": [{"c": [3]}], "d": [], "e": ["x"]})
    assert text == (
        '{\n  "a": [1, -2.5, 1e-7, null],\n  "b": [\n    {\n      "c": [3]\n    }\n  ],\n'
        '  "d": [],\n  "e": [\n    "x"\n  ]\n}\n'
    )


def test_text_that_looks_like_a_list_is_left_alone() -> None:
    tricky = {"log": "[\n  1,\n  2\n]", "unicode": "Größe ≤ 1 µs"}
    text = render_json(tricky)
    assert json.loads(text) == tricky
    assert "Größe" in text


@pytest.mark.parametrize("name", captures.ALL)
def test_it_is_one_document_whose_values_are_not_rounded(name: str) -> None:
    report = build_report(captures.ALL[name]())
    text = render(report)
    assert text.endswith("}\n")
    assert text.count("\n") < 1600
    document = json.loads(text)
    assert document["blocks"]["timing"]["kernel_us"] == report.blocks.timing.kernel_us
    assert document["blocks"]["timing"]["speedup"] == report.blocks.timing.speedup
