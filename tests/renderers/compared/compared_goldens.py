"""Golden comparisons. Run this file to write them again after a change that was meant, then read the difference."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

_TESTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_TESTS), str(_TESTS.parent)]

from compared_reports import by_hand, compared, fused, imported, naive, recorded  # noqa: E402

from kprof.comparison.records import Comparison  # noqa: E402
from kprof.renderers.compared import COMPARED_FORMATS, render_compared  # noqa: E402
from kprof.renderers.layout import Style  # noqa: E402

FOLDER: Final = Path(__file__).resolve().parent / "golden"
PAIRS: Final[dict[str, Callable[[], Comparison]]] = {
    "faster": lambda: compared(naive(), fused()),
    "same": lambda: compared(naive(), naive()),
    "refused": lambda: compared(naive(), recorded("cuda_naive_4x10x32")),
    "forced": lambda: compared(naive(), recorded("cuda_naive_4x10x32"), force=True),
    "wrong": lambda: compared(by_hand(), by_hand("wrong")),
    "failed": lambda: compared(by_hand(), by_hand("build_failure")),
    "imported": lambda: compared(imported(), imported()),
}
KEPT: Final = (
    *((name, format_) for name in PAIRS for format_ in ("text", "markdown")),
    ("faster", "html"),
    ("refused", "html"),
    ("failed", "html"),
    ("wrong", "json"),
)


@cache
def comparison(name: str) -> Comparison:
    return PAIRS[name]()


def golden(name: str, format_: str) -> Path:
    return FOLDER / f"{name}{COMPARED_FORMATS[format_].suffixes[0]}"


def made(name: str, format_: str) -> str:
    """80 columns, no colour."""
    return render_compared(format_, comparison(name), Style())


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in KEPT:
        golden(*each).write_text(made(*each), encoding="utf-8")
