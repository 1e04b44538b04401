"""Golden summaries. Run this file to write them again after a change that was meant, then read the difference."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

_TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_TESTS), str(_TESTS.parent)]

import captures  # noqa: E402

from kprof.renderers import text  # noqa: E402
from kprof.report import build_report  # noqa: E402

FOLDER: Final = Path(__file__).resolve().parent / "golden"
NAMES: Final = ("cpu", "tiny", "large", "without_ref", "wrong", "nan", "build_failure", "timing_hang", "only_build")


def golden(name: str) -> Path:
    return FOLDER / f"{name}.txt"


def made(name: str) -> str:
    """The summary of one run, 80 columns, no colour."""
    return text.render(build_report(captures.ALL[name]()), width=80)


if __name__ == "__main__":
    for each in NAMES:
        golden(each).write_text(made(each), encoding="utf-8")
