"""How one quantity is found among ncu's metrics: names in order of preference, then formulas over other names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

Combine = Literal[
    "sum", "time", "cycles", "instructions", "load_sectors", "store_sectors", "most", "largest", "none"
]  # fmt: skip
"""How launches make one number: added up; weighted by time, active cycles, instructions or sectors; that of the launch
with most time; the largest; not at all (the ratio of two others, which are combined instead)."""

PCT_ELAPSED: Final = "pct_of_peak_sustained_elapsed"
PCT_ACTIVE: Final = "pct_of_peak_sustained_active"
MOST: Final = 1e18
"""No counter of one launch comes near it: 1e18 bytes at 8 TB/s take a day and a half."""
BYTES_PER_SECTOR: Final = 32
"""A sector of L1, L2 and DRAM traffic (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory")."""


@dataclass(frozen=True)
class Formula:
    """A number made from metrics, all of which must be there.

    Attributes:
        names: the metrics it needs.
        compute: gets their values in that order; None where they allow no answer (a denominator of 0).
        text: how it reads, for the ``source`` of the value.
        is_plain: it is one metric as it stands.
    """

    names: tuple[str, ...]
    compute: Callable[..., float | None]
    text: str
    is_plain: bool = False


@dataclass(frozen=True)
class Quantity:
    """One logical quantity.

    Attributes:
        unit: of the value.
        combine: how several launches make one.
        formulas: in order of preference; the first whose metrics are all there answers.
        asked: it belongs to the default set that kprof has ncu collect.
        least: a value below it, or beyond `MOST`, is none.
        whole: so is one that is no whole number.
    """

    unit: str
    combine: Combine
    formulas: tuple[Formula, ...]
    asked: bool
    least: float | None = None
    whole: bool = False

    def allows(self, value: float) -> bool:
        """The value is one that this quantity can have at all."""
        if self.least is None:
            return abs(value) <= MOST
        return self.least <= value <= MOST and not (self.whole and value != int(value))

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for formula in self.formulas for name in formula.names)


def _same(value: float) -> float:
    return value


def one(name: str) -> Formula:
    """The metric itself."""
    return Formula((name,), _same, name, is_plain=True)


def scaled(name: str, factor: float) -> Formula:
    """The metric times a constant."""
    return Formula((name,), lambda value: value * factor, f"{name} * {factor:g}")


def total(*names: str, factor: float = 1.0) -> Formula:
    """The sum of metrics, times a constant."""
    times = "" if factor == 1.0 else f" * {factor:g}"
    return Formula(names, lambda *values: sum(values) * factor, f"({' + '.join(names)}){times}")


def product(*names: str, factor: float = 1.0) -> Formula:
    """The product of metrics, times a constant."""

    def compute(*values: float) -> float:
        result = factor
        for value in values:
            result *= value
        return result

    times = "" if factor == 1.0 else f" * {factor:g}"
    return Formula(names, compute, f"{' * '.join(names)}{times}")


def ratio(numerator: str, denominator: str, factor: float = 1.0) -> Formula:
    """One metric over another, times a constant; no answer over 0."""
    times = "" if factor == 1.0 else f" * {factor:g}"
    return Formula(
        (numerator, denominator),
        lambda above, below: above / below * factor if below else None,
        f"{numerator} / {denominator}{times}",
    )


def share_of_active(active_pct: str) -> Formula:
    """A percentage over active cycles, turned into one over elapsed cycles."""
    return Formula(
        (active_pct, "sm__cycles_active.avg", "sm__cycles_elapsed.avg"),
        lambda pct, active, elapsed: pct * active / elapsed if elapsed else None,
        f"{active_pct} * sm__cycles_active.avg / sm__cycles_elapsed.avg",
    )


def quantity(
    unit: str,
    combine: Combine,
    *formulas: Formula | str,
    asked: bool = True,
    least: float | None = None,
    whole: bool = False,
) -> Any:
    """The declaration of one quantity, to stand inside ``Annotated``. A string is the metric of that name."""
    made = tuple(one(formula) if isinstance(formula, str) else formula for formula in formulas)
    return Quantity(unit, combine, made, asked, least, whole)
