"""What to say where percentages are of measured roofs: that there are none, or that a kernel does better than they."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kprof.ceilings_evidence import MEASURE_HINT
from kprof.evidence import Reason

NO_CEILINGS: Final = Reason(
    code="ceilings_not_measured",
    message="measured roofs were asked for, and this board has none: percentages are of the spec",
    hint=MEASURE_HINT,
)


def above_measured_roofs(shares_pct: Mapping[str, float | None]) -> list[Reason]:
    """A measured roof is what one program reached: another may pass it a little. Shares stay as they are, and are told.

    Args:
        shares_pct: percent of the measured roof, by field.
    """
    above = ", ".join(f"{name} {pct:.4g} %" for name, pct in shares_pct.items() if pct is not None and pct > 100)
    if not above:
        return []
    message = f"more than the measured roof: {above}"
    return [Reason(code="above_measured_roof", message=message, hint="Measure again: kprof doctor --ceilings.")]
