"""What analysis reads of a launch: its quantities, the board they were measured on, and what cannot be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kprof.board import GpuSpec
from kprof.ceilings_evidence import CeilingsEvidence
from kprof.counters.quantities import Quantities
from kprof.evidence import Reason


@dataclass(frozen=True)
class Finding:
    """Numbers that contradict physics or each other: kept, shown with this reason, and no evidence for anything."""

    code: str
    """Stable, snake_case."""
    message: str
    """One line with the numbers."""
    quantities: tuple[str, ...]
    """Names of the quantities that it is about."""

    @property
    def reason(self) -> Reason:
        return Reason(code=self.code, message=self.message)


@dataclass(frozen=True)
class CounterProfile:
    """One launch, or several launches of a side together."""

    quantities: Quantities
    spec: GpuSpec | None = None
    """The board, where it is known for sure."""
    spec_reason: Reason | None = None
    """Why the board is not known, where it is not."""
    findings: tuple[Finding, ...] = ()
    ceilings: CeilingsEvidence | None = None
    """Roofs measured on such a board, where there are any."""

    def trusted(self, name: str) -> float | None:
        """The quantity of that name, or None where it was not measured or cannot be trusted."""
        if self.findings and self.is_doubted(name):
            return None
        value: float | None = getattr(self.quantities, name)
        return value

    def is_doubted(self, name: str) -> bool:
        """Some finding is about the quantity of that name."""
        return name in self._doubted

    @cached_property
    def _doubted(self) -> frozenset[str]:
        return frozenset(name for finding in self.findings for name in finding.quantities)

    def findings_on(self, *names: str) -> tuple[Finding, ...]:
        """The findings that are about any of the quantities named."""
        return tuple(finding for finding in self.findings if set(names) & set(finding.quantities))
