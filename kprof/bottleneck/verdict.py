"""The records that a verdict is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Family = Literal["memory", "compute", "latency", "launch", "balanced", "unknown"]


@dataclass(frozen=True)
class Proof:
    """One number behind a verdict, and the border it was held against."""

    metric: str
    value: float
    unit: str
    threshold: float | None = None


@dataclass(frozen=True)
class Step:
    """One thing to try, and the speedup it cannot exceed; None: no bound is known."""

    text: str
    at_most_x: float | None = None


@dataclass(frozen=True)
class Border:
    """How far the values may move, all at once and relative to themselves, before another label holds."""

    distance: float
    runner_up: str


@dataclass(frozen=True)
class Load:
    """How busy one candidate for a bound is over elapsed time."""

    limiter: str
    pct: float
    metric: str
    """The name or formula that the number comes from."""


@dataclass(frozen=True)
class Cause:
    """One explanation of a kernel that keeps nothing busy.

    ``gain`` is the speedup that removing it could bring at most, other things equal; ``least`` and ``most`` are that
    bound when every value behind it moves by `Thresholds.near_border`.
    """

    limiter: str
    gain: float
    least: float
    most: float
    proof: Proof


@dataclass(frozen=True)
class Verdict:
    """What holds a kernel back."""

    family: Family
    limiter: str | None = None
    proofs: tuple[Proof, ...] = ()
    steps: tuple[Step, ...] = ()
    margin: float | None = None
    """`Border.distance` of the nearest border; None where there is none to speak of."""
    near_border: str | None = None
    """The runner-up, where the border is near."""
    missing: tuple[str, ...] = ()
    """Quantities that would have decided, or made it surer."""
    doubted: tuple[str, ...] = ()
    """Quantities that were measured and not believed."""

    @property
    def label(self) -> str:
        return f"{self.family}/{self.limiter}" if self.limiter else self.family
