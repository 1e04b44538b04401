"""Colours of the plot, light and dark. Levels differ in hue, and in fill, so that no reader depends on colour."""

from __future__ import annotations

from typing import Final, Literal

from kprof.evidence import Side

FillStyle = Literal["full", "right", "none"]

INK: Final = "#1f2328"
MUTED: Final = "#59636e"
GRID: Final = "#e1e5ea"
PAPER: Final = "#ffffff"
LEVELS: Final = {"dram": "#0b62b8", "l2": "#12764a", "l1": "#b35309"}
"""On white each has a contrast of at least 4.5."""
DARK: Final = {
    INK: "#e6edf3",
    MUTED: "#9aa4af",
    GRID: "#2b323b",
    PAPER: "#0d1117",
    LEVELS["dram"]: "#6cb6ff",
    LEVELS["l2"]: "#57c78f",
    LEVELS["l1"]: "#f0a35e",
}
"""What each colour becomes where the reader prefers dark."""
MARKERS: Final[dict[Side | None, str]] = {"kernel": "o", "ref": "s", None: "o"}
FILLS: Final[dict[str, FillStyle]] = {"dram": "full", "l2": "right", "l1": "none"}
"""How much of a point is filled: where points of all levels coincide each of them still shows."""
FONTS: Final = ("DejaVu Sans", "Verdana", "Arial", "sans-serif")
"""The first travels with matplotlib and is the widest: elsewhere text takes less room than was kept for it."""
