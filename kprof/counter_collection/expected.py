"""What torch.profiler's launches say beforehand of the kernels that ncu will see."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from kprof.collectors.ncu_run.command_line import kernels_named
from kprof.evidence import Side
from kprof.kernelnames import base_name
from kprof.launches_evidence import LaunchesEvidence, SideLaunches

MOST_SAMPLED: Final = 4
"""Kernels of a call that is made again for samples: each costs all passes of the set once more, 0.2 s on an H200."""
SHORT_US: Final = 10.0
"""Shorter kernels give hundreds of samples at most, at the shortest interval of 32 cycles."""
_COLLECTIVE: Final = re.compile("nccl", re.IGNORECASE)
"""Kernels that wait for one another on other devices: ncu, which runs one kernel at a time, never sees their end."""


@dataclass(frozen=True)
class Expected:
    """The kernels of one call of each side, by base name, in launch order. A side that is not known is left out."""

    names: dict[Side, tuple[str, ...]]
    user_filter: str | None = None
    longest_us: dict[Side, float] = field(default_factory=dict)
    """Device time of the longest kernel of each side."""

    @property
    def collectives(self) -> int:
        """Launches that are left out because they would never end; none where the user picked kernels."""
        if self.user_filter is not None:
            return 0
        return sum(bool(_COLLECTIVE.search(name)) for names in self.names.values() for name in names)

    @property
    def filter(self) -> str | None:
        """The regular expression for ncu: the user's, or one that leaves collectives out where there are any.

        It names those that stay: no other way to leave some out is sure to work in each ncu.
        """
        if self.user_filter is not None or not self.collectives:
            return self.user_filter
        return kernels_named(name for names in self.names.values() for name in names if not _COLLECTIVE.search(name))

    @property
    def nothing_left(self) -> bool:
        """All kernels that are known are collectives."""
        return 0 < self.collectives == sum(map(len, self.names.values()))

    def needs_more_samples(self, side: Side) -> bool:
        """Its kernels are too short for one call to give samples enough, and so few that further calls cost little."""
        count, longest = self.count(side), self.longest_us.get(side)
        return count is not None and longest is not None and 0 < count <= MOST_SAMPLED and longest < SHORT_US

    def count(self, side: Side) -> int | None:
        """Launches of a side that ncu will see; None: not known."""
        names = self.names.get(side)
        if names is None:
            return None
        if self.user_filter is None:
            return sum(not _COLLECTIVE.search(name) for name in names)
        try:
            return sum(bool(re.search(self.user_filter, name)) for name in names)
        except re.error:
            return None


def expected_kernels(launches: LaunchesEvidence | None, user_filter: str | None) -> Expected:
    """What is known from the evidence of launches.

    Args:
        launches: as torch.profiler saw them; None: not collected.
        user_filter: the regular expression that the user gave.
    """
    names: dict[Side, tuple[str, ...]] = {}
    longest: dict[Side, float] = {}
    seen: dict[Side, SideLaunches | None] = {}
    if launches is not None:
        seen = {"kernel": launches.kernel, "ref": launches.ref}
    for side, found in seen.items():
        if found is not None and found.absent is None:
            kernels = [one for one in found.launches if one.kind == "kernel"]
            names[side] = tuple(base_name(one.name) for one in kernels)
            longest[side] = max((one.duration_us for one in kernels), default=0.0)
    return Expected(names, user_filter, longest)
