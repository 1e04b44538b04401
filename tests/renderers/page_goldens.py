"""Golden pages. After a change that was meant run this file, then read the difference."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

_TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_TESTS), str(_TESTS.parent)]

import captures  # noqa: E402
from report_runs import recorded  # noqa: E402

from kprof.renderers.html import render  # noqa: E402
from kprof.report import Report, build_report  # noqa: E402

FOLDER: Final = Path(__file__).resolve().parent / "golden_pages"
_RECORDED: Final = "triton_fused_4x8192x4096"
NAMES: Final = ("cpu", "tiny", "wrong", "nan", "build_failure", "timing_hang", "only_build", _RECORDED)
_LEFT_OUT: Final = (
    (r"<style>.*?</style>", "<style></style>"),
    (r"(<script[^>]*>).*?</script>", r"\1</script>"),
    (r"sha256-[^']*", "sha256-"),
    (r"<svg.*?</svg>", "<svg></svg>"),
    (r"base64,[^\"]*", "base64,"),
    (r"[0-9,]+ bytes unpacked", "N bytes unpacked"),
    (r"<tbody>(?=\s*<tr><th scope=\"row\"><code>).*?</tbody>", "<tbody></tbody>"),
)
"""What a golden page leaves out: looks, pictures, the JSON and the tables of all fields. They have their own tests."""


def report(name: str) -> Report:
    """One run's report."""
    return recorded(name) if name == _RECORDED else build_report(captures.ALL[name]())


def golden(name: str) -> Path:
    return FOLDER / f"{name}.html"


def made(name: str) -> str:
    """The page of one run, without what `_LEFT_OUT` lists."""
    page = render(report(name))
    for pattern, kept in _LEFT_OUT:
        page = re.sub(pattern, kept, page, flags=re.DOTALL)
    return page


if __name__ == "__main__":
    for each in NAMES:
        golden(each).write_text(made(each), encoding="utf-8")
