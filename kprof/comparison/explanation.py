"""Why the time changed: what the counters say, in sentences, the largest part first.

Every sentence is arithmetic on two reports: ``time = bytes / bandwidth`` and the like. A change within the noise of its
number is called the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kprof.comparison.noise import RATES_PCT
from kprof.comparison.records import Explanation, MetricChange
from kprof.comparison.words import share
from kprof.gates.paths import part
from kprof.gates.words import shown

_MOVED: Final = frozenset({"better", "worse", "changed"})
_TIME, _BYTES, _RATE = "roofline.profiled_us", "roofline.dram_bytes", "roofline.dram_bandwidth_gbs"
_ISSUE, _CLOCK = "sol.issue_util_pct", "roofline.sm_clock_mhz"
_REF: Final = "timing.ref_us"
_GAP: Final = "waterfall.gap_us"
_FAMILY, _LIMITER = "bottleneck.family", "bottleneck.limiter"
_INSTRUCTIONS_PCT: Final = 2 * RATES_PCT
"""The product of two numbers that each repeat within `RATES_PCT`."""
_LARGE: Final = frozenset({"bytes", "FLOP"})
"""Units of numbers of which only the change says anything."""
_PLAIN: Final[tuple[tuple[str, str], ...]] = (
    ("launches", "launches.kernel_launches"),
    ("flop", "roofline.total_flop"),
    ("occupancy", "occupancy.achieved_pct"),
    ("registers", "occupancy.registers_per_thread"),
    ("l2_bytes", "roofline.l2_bytes"),
    ("l2_hits", "caches.l2_hit_pct"),
    ("l1_hits", "caches.l1_hit_pct"),
    ("loads", "caches.ld_sectors_per_request"),
    ("stores", "caches.st_sectors_per_request"),
    ("loads_used", "caches.ld_efficiency_pct"),
    ("stores_used", "caches.st_efficiency_pct"),
    ("local_memory", "caches.local_bytes"),
    ("bank_conflicts", "caches.bank_conflicts"),
    ("clock", "timing.sm_clock_mhz"),
)
"""Facts that need no more than their two values."""


def explanations(changes: Sequence[MetricChange], a: dict[str, Any], b: dict[str, Any]) -> tuple[Explanation, ...]:
    """What explains the time, from the metrics of two reports and the reports as plain values."""
    facts = _Facts({one.path: one for one in changes})
    found = [*facts.bound(), *facts.traffic(), *facts.instructions(), *facts.tensor(), *facts.host()]
    found += [*facts.plain(), *facts.stalls(), *facts.reference()]
    missing = _no_counters(a, b)
    if missing is not None:
        return (*found, missing)
    if not found:
        text = "nothing that explains a time changed beyond its noise"
        return (Explanation(code="nothing_changed", text=text, paths=()),)
    return tuple(found)


def _no_counters(a: dict[str, Any], b: dict[str, Any]) -> Explanation | None:
    """Why the counters say nothing, where one of the reports has none."""
    told = []
    for which, one in (("a", a), ("b", b)):
        block = part(one, "blocks", "roofline")
        if part(block, "status") in ("unavailable", "skipped", "failed"):
            told.append(f"{which} has no counters ({part(block, 'reason', 'code')})")
    if not told:
        return None
    return Explanation(code="no_counters", text=f"{'; '.join(told)}: what they would explain is not known", paths=())


class _Facts:
    """The changes by path, and the sentences that can be made of them."""

    def __init__(self, changes: Mapping[str, MetricChange]) -> None:
        self._changes = changes

    def _moved(self, path: str) -> bool:
        return path in self._changes and self._changes[path].outcome in _MOVED

    def _known(self, *paths: str) -> bool:
        return all(path in self._changes and self._changes[path].outcome != "unknown" for path in paths)

    def _pair(self, path: str) -> tuple[float, float]:
        one = self._changes[path]
        assert isinstance(one.a, (int, float))
        assert isinstance(one.b, (int, float))
        return one.a, one.b

    def _share(self, path: str) -> str:
        """``-48 %``, or that there is no change."""
        one = self._changes[path]
        return share(one.change_pct) if self._moved(path) and one.change_pct is not None else "unchanged"

    def bound(self) -> Iterator[Explanation]:
        if not (self._moved(_FAMILY) or self._moved(_LIMITER)) or not self._known(_FAMILY):
            return
        limiter, family = self._changes.get(_LIMITER), self._changes[_FAMILY]
        was, now = (
            f"{kind} ({limit})" if limit else str(kind)
            for kind, limit in (
                (family.a, limiter.a if limiter else None),
                (family.b, limiter.b if limiter else None),
            )
        )
        yield Explanation(code="bound", text=f"the bound was {was}, and is {now}", paths=(_FAMILY, _LIMITER))

    def traffic(self) -> Iterator[Explanation]:
        """Time is bytes over bandwidth: which of the two moved."""
        if not self._known(_TIME, _BYTES, _RATE) or not (self._moved(_BYTES) or self._moved(_RATE)):
            return
        bytes_, rate, paths = self._share(_BYTES), self._share(_RATE), (_TIME, _BYTES, _RATE)
        rates = f"GB/s {rate} ({' to '.join(f'{one:.4g}' for one in self._pair(_RATE))})"
        if not self._moved(_RATE):
            text = f"DRAM bytes {bytes_}, same GB/s: the time goes with the bytes"
            yield Explanation(code="bytes", text=text, paths=paths)
        elif not self._moved(_BYTES):
            yield Explanation(code="bandwidth", text=f"same DRAM bytes, {rates}", paths=paths)
        else:
            text = f"DRAM bytes {bytes_}, {rates}: together, time under ncu {self._share(_TIME)}"
            yield Explanation(code="bytes_and_bandwidth", text=text, paths=paths)

    def instructions(self) -> Iterator[Explanation]:
        """Issue slots used, times cycles: how many instructions were issued."""
        paths = (_ISSUE, _TIME, _CLOCK)
        if not self._known(*paths):
            return
        ratio = 1.0
        for path in paths:
            one, other = self._pair(path)
            if not one or not other:
                return
            ratio *= other / one
        change = 100.0 * (ratio - 1.0)
        if abs(change) > _INSTRUCTIONS_PCT:
            used = " to ".join(shown(one, "%") for one in self._pair(_ISSUE))
            text = f"instructions issued {share(change)} (issue slots used: {used})"
            yield Explanation(code="instructions", text=text, paths=paths)

    def tensor(self) -> Iterator[Explanation]:
        for path, one in self._changes.items():
            if not path.startswith("roofline.tensor_tflops.") or not self._moved(path):
                continue
            if not one.a or not one.b:
                text = f"the tensor cores do {one.label.split()[0]} {'now' if one.b else 'no more'}"
                yield Explanation(code="tensor", text=text, paths=(path,))
            else:
                yield self._sentence("tensor", path)

    def host(self) -> Iterator[Explanation]:
        """The host's part, where it is what holds one of the two back."""
        family = self._changes.get(_FAMILY)
        if family is not None and "launch" in (family.a, family.b) and self._moved(_GAP):
            yield self._sentence("host_gap", _GAP)

    def reference(self) -> Iterator[Explanation]:
        """The reference is the same file: when its time moves, the speedup over it moves for that too."""
        if self._moved(_REF):
            text = f"the reference's own time {self._share(_REF)}: the speedup over it changed for that too"
            yield Explanation(code="reference", text=text, paths=(_REF,))

    def plain(self) -> Iterator[Explanation]:
        for code, path in _PLAIN:
            if self._moved(path):
                yield self._sentence(code, path)

    def _sentence(self, code: str, path: str) -> Explanation:
        one = self._changes[path]
        if one.unit in _LARGE and one.change_pct is not None:
            return Explanation(code=code, text=f"{one.label} {share(one.change_pct)}", paths=(path,))
        unit = one.unit if one.unit in ("us", "%", "MHz", "bytes") else None
        by = "" if one.change_pct is None or one.unit == "%" else f" ({share(one.change_pct)})"
        text = f"{one.label}: {shown(one.a, unit)} to {shown(one.b, unit)}{by}"
        return Explanation(code=code, text=text, paths=(path,))

    def stalls(self) -> Iterator[Explanation]:
        """The state that warps wait in more, and the one that they wait in less, by most."""
        moved = [one for path, one in self._changes.items() if path.startswith("stalls.") and self._moved(path)]
        shares = [one for one in moved if one.path.endswith(".share_pct")]
        by = {one.path: self._pair(one.path)[1] - self._pair(one.path)[0] for one in shares}
        more = max(shares, key=lambda one: by[one.path], default=None)
        less = min(shares, key=lambda one: by[one.path], default=None)
        for code, one in (("waits_more", more), ("waits_less", less)):
            if one is not None and (by[one.path] > 0) == (code == "waits_more"):
                was, now = self._pair(one.path)
                word = "more" if code == "waits_more" else "less"
                state = one.label.rpartition(" ")[2]
                text = f"warps wait {word} for {state}: {was:.3g} to {now:.3g} % of their states"
                yield Explanation(code=code, text=text, paths=(one.path,))
