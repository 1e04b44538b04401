"""Changes in words."""

from __future__ import annotations

from typing import Final

from kprof.gates.plausible import in_words

_FEW_PCT: Final = -95.0
_MANY_PCT: Final = 900.0


def share(change_pct: float) -> str:
    """``-48 %``; a small part that is left as ``1/57``, many times as much as ``57x``."""
    if change_pct == 0:
        return "no change"
    left = 1.0 + change_pct / 100.0
    if change_pct < _FEW_PCT:
        return f"1/{1.0 / left:,.0f}" if left > 0 else "to 0"
    return in_words(left) if change_pct > _MANY_PCT else f"{change_pct:+.3g} %"
