"""Golden summaries. Run this file to write them again after a change that was meant, then read the difference."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Final

_TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_TESTS), str(_TESTS.parent)]

import captures  # noqa: E402

from kprof.capture import load_capture  # noqa: E402
from kprof.importing import import_capture  # noqa: E402
from kprof.renderers import FORMATS, render_as  # noqa: E402
from kprof.renderers.layout import Style  # noqa: E402
from kprof.report import Report, build_report  # noqa: E402

FOLDER: Final = Path(__file__).resolve().parent / "golden"
_DATA: Final = _TESTS / "data"
_RECORDED: Final = {"counters": "triton_fused_4x8192x4096.json", "launch_bound": "cuda_naive_4x10x32.json"}
_BY_HAND: Final = (
    "cpu", "tiny", "large", "without_ref", "wrong", "nan", "build_failure", "timing_hang", "only_build",
)  # fmt: skip
NAMES: Final = (*_BY_HAND, *_RECORDED, "imported")
"""Every run that summaries are kept of. Between them blocks are in every state there is."""
_BRIEF: Final = ("build_failure",)
"""Runs whose report is kept in JSON, which has every field."""
KEPT: Final = tuple(
    (name, format_)
    for format_, runs in (("text", NAMES), ("markdown", NAMES), ("csv", (*_RECORDED, "imported")), ("json", _BRIEF))
    for name in runs
)


@cache
def report(name: str) -> Report:
    """One run's report."""
    if name in _RECORDED:
        return build_report(load_capture(_DATA / "h200" / _RECORDED[name]), source="replayed")
    if name == "imported":
        capture = import_capture(_DATA / "ncu" / "probes.raw.csv", None, ("kprof", "import", "probes.raw.csv"))
        return build_report(capture, source="imported")
    return build_report(captures.ALL[name]())


def golden(name: str, format_: str = "text") -> Path:
    return FOLDER / f"{name}{FORMATS[format_].suffixes[0]}"


def made(name: str, format_: str = "text") -> str:
    """What one run reads like: 80 columns, no colour."""
    rendered = render_as(format_, report(name), Style())
    assert isinstance(rendered, str)
    return rendered.replace(str(_TESTS.parent), ".")


if __name__ == "__main__":
    for each in KEPT:
        golden(*each).write_text(made(*each), encoding="utf-8")
