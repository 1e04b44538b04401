"""The block ``caches``: how memory is accessed, from sums of sectors, requests and hits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from kprof.audit import LITTLE_TRAFFIC as HIT_RATE_OF_LITTLE
from kprof.blocks.base import Block
from kprof.blocks.profiled import SOURCE, finish_profiled
from kprof.counter_profile import CounterProfile
from kprof.counters.formulas import BYTES_PER_SECTOR
from kprof.counters.quantities import Quantities
from kprof.counters.resolve import NOT_COLLECTED, ZERO_DENOMINATOR
from kprof.evidence import Reason
from kprof.metrics import metric

TOO_LITTLE_TRAFFIC: Final = "too_little_traffic"
"""Code for a hit rate of too few sectors."""
PER_LAUNCH_ONLY: Final = "per_launch_only"
"""Code for a ratio that each launch has of its own, and that several have no sums to make one from."""
IMPLAUSIBLE: Final = "implausible_hit_rate"
LITTLE_TRAFFIC: Final = "little_traffic"
_L2_RATE: Final = "l2_hit_rate_pct"
_SM_SECTORS: Final = "lts__t_sectors_srcunit_tex.sum"


@dataclass(frozen=True, kw_only=True)
class CacheThresholds:
    """From which traffic on a hit rate says something."""

    least_sectors: int = 8
    """Under so many sectors a launch one more or less moves a rate by over 12.5 points. L1 counts exactly: 360 sectors
    of a kernel of two blocks gave the right 44.4 %."""
    l2_background_sectors: int = 65_536
    """L2 serves instructions, constants and the driver too: 4,700 to 23,300 sectors a launch of kernels that read and
    wrote at most 416 themselves (H200, Nsight Compute 2025.3.1), counted in other passes than their hits, which makes
    rates of 112 % and 116 %. At three times the most that was seen it is a minor part."""
    l2_least_sm_share: float = 0.1
    """Sectors that the SMs asked for over all: 38 to 99 % of kernels with traffic, 0 to 6 % of those without. A miss
    counts in both halves of the H200's L2, which halves the share."""
    over_full_pct: float = 0.01
    """Outside 0 to 100 % by more than what a rate is rounded to in text."""


THRESHOLDS: Final = CacheThresholds()


class CachesBlock(Block, frozen=True, kw_only=True):
    """How memory is accessed."""

    l1_hit_pct: Annotated[float | None, metric("%", "L1 sectors hit", better="higher", source=SOURCE)] = None
    l2_hit_pct: Annotated[float | None, metric("%", "L2 sectors hit", better="higher", source=SOURCE)] = None
    ld_sectors_per_request: Annotated[
        float | None, metric("sectors/request", "Sectors of a global load", better="lower", source=SOURCE)
    ] = None
    st_sectors_per_request: Annotated[
        float | None, metric("sectors/request", "Sectors of a global store", better="lower", source=SOURCE)
    ] = None
    ld_efficiency_pct: Annotated[
        float | None, metric("%", "Bytes used of the sectors loaded", better="higher", source=SOURCE)
    ] = None
    st_efficiency_pct: Annotated[
        float | None, metric("%", "Bytes used of the sectors stored", better="higher", source=SOURCE)
    ] = None
    bank_conflicts: Annotated[
        float | None, metric("count", "Shared memory wavefronts lost to bank conflicts", better="lower", source=SOURCE)
    ] = None
    local_bytes: Annotated[
        float | None,
        metric("bytes", "Local memory traffic (spills, arrays of a thread)", better="lower", source=SOURCE),
    ] = None


_SHOWN: Final = (
    "l1_sectors", "l1_hit_sectors", "l1_hit_rate_pct", "l2_sectors", "l2_hit_sectors", "l2_hit_rate_pct",
    "load_sectors", "load_requests", "load_sectors_per_request", "load_bytes_per_sector",
    "store_sectors", "store_requests", "store_sectors_per_request", "store_bytes_per_sector",
    "bank_conflicts", "local_bytes",
)  # fmt: skip


@dataclass(frozen=True)
class _Number:
    """A number, or the code for why there is none."""

    value: float | None
    code: str = ""


def caches_block(profile: CounterProfile) -> CachesBlock:
    """Hit rates, sectors a request, the use of what was moved, conflicts and local memory.

    Rates are sums over sums, so that they hold for several launches; a ratio of ncu's own stands in for a single one.
    A hit rate over 100 % is kept, and makes the block suspect.

    Args:
        profile: of one launch, or several together.
    """
    found = profile.quantities
    # The audit's finding on a rate over 100 % of little traffic says why; that the rate is impossible is said here.
    little = [one for one in profile.findings if one.code == HIT_RATE_OF_LITTLE]
    others = tuple(one for one in profile.findings if one.code != HIT_RATE_OF_LITTLE)
    numbers = {
        "l1_hit_pct": _l1_hit(found),
        "l2_hit_pct": _hit_rate(found, "l2"),
        "ld_sectors_per_request": _sectors_per_request(found, "load"),
        "st_sectors_per_request": _sectors_per_request(found, "store"),
        "ld_efficiency_pct": _efficiency(found, "load"),
        "st_efficiency_pct": _efficiency(found, "store"),
        "bank_conflicts": _plain(found, "bank_conflicts"),
        "local_bytes": _plain(found, "local_bytes"),
    }
    values: dict[str, Any] = {name: number.value for name, number in numbers.items()}
    l2_hit_pct = values["l2_hit_pct"]
    impossible = (*_over_full("L1", values["l1_hit_pct"]), *_over_full("L2", l2_hit_pct))
    block = CachesBlock(
        status="suspect" if impossible else "ok",
        reason=impossible[0] if impossible else None,
        source=SOURCE,
        warnings=(
            *impossible[1:],
            *(_of_little(one.message) for one in little),
            *(() if any(_L2_RATE in one.quantities for one in little) else _little_traffic(found, l2_hit_pct)),
        ),
        **values,
    )
    return finish_profiled(block, replace(profile, findings=others), _SHOWN, lambda path: numbers[path].code)


def _plain(found: Quantities, name: str) -> _Number:
    value: float | None = getattr(found, name)
    return _Number(value, found.missing.get(name, NOT_COLLECTED))


def _l1_hit(found: Quantities) -> _Number:
    """The hit rate of L1; ncu's own 0 % is none where nothing was looked up."""
    rate = _hit_rate(found, "l1")
    untouched = found.load_sectors == 0 and found.store_sectors == 0 and not found.local_bytes
    return _Number(None, TOO_LITTLE_TRAFFIC) if rate.value == 0 and found.l1_sectors is None and untouched else rate


def _hit_rate(found: Quantities, level: str) -> _Number:
    """Hit sectors over sectors, %; for a single launch without the two, ncu's own rate."""
    sectors: float | None = getattr(found, f"{level}_sectors")
    hits: float | None = getattr(found, f"{level}_hit_sectors")
    if sectors is not None and sectors < THRESHOLDS.least_sectors * found.launches:
        return _Number(None, TOO_LITTLE_TRAFFIC)
    if sectors is not None and hits is not None:
        return _Number(100.0 * hits / sectors)
    return _own_ratio(found, f"{level}_hit_rate_pct", f"{level}_hit_sectors")


def _own_ratio(found: Quantities, name: str, summed: str) -> _Number:
    """A ratio that ncu made of one launch."""
    value: float | None = getattr(found, name)
    if found.launches == 1 or value is not None:
        return _Number(value, found.missing.get(name, NOT_COLLECTED))
    return _Number(None, found.missing.get(summed, PER_LAUNCH_ONLY))


def _sectors_per_request(found: Quantities, kind: str) -> _Number:
    sectors: float | None = getattr(found, f"{kind}_sectors")
    requests: float | None = getattr(found, f"{kind}_requests")
    if requests == 0:
        return _Number(None, ZERO_DENOMINATOR)
    if sectors is not None and requests is not None:
        return _Number(sectors / requests)
    return _own_ratio(found, f"{kind}_sectors_per_request", f"{kind}_requests")


def _efficiency(found: Quantities, kind: str) -> _Number:
    """Bytes that the instructions asked for over the bytes of the sectors they touched, %.

    ncu says 0 bytes a sector where there were no sectors: that is no efficiency.
    """
    sectors: float | None = getattr(found, f"{kind}_sectors")
    bytes_per_sector: float | None = getattr(found, f"{kind}_bytes_per_sector")
    if sectors == 0 or bytes_per_sector == 0:
        return _Number(None, ZERO_DENOMINATOR)
    if bytes_per_sector is not None:
        return _Number(100.0 * bytes_per_sector / BYTES_PER_SECTOR)
    code = found.missing.get(f"{kind}_bytes_per_sector", NOT_COLLECTED)
    return _Number(None, code if found.launches == 1 else PER_LAUNCH_ONLY)


def _over_full(cache: str, hit_pct: float | None) -> Iterator[Reason]:
    margin = THRESHOLDS.over_full_pct
    if hit_pct is not None and not -margin <= hit_pct <= 100 + margin:
        yield Reason(code=IMPLAUSIBLE, message=f"{cache} hit rate {hit_pct:.2f} %: no rate lies outside 0 to 100 %")


def _of_little(message: str) -> Reason:
    hint = "Judge the hit rate by a larger problem size."
    return Reason(code=LITTLE_TRAFFIC, message=message, hint=hint)


def _little_traffic(found: Quantities, hit_pct: float | None) -> Iterator[Reason]:
    if hit_pct is None or found.l2_sectors is None:
        return
    asked = _sm_sectors(found)
    if asked is not None and asked < THRESHOLDS.l2_least_sm_share * found.l2_sectors:
        share = f"{asked:.0f} of {found.l2_sectors:.0f} sectors looked up in L2 were for the kernel's own accesses"
        yield _of_little(f"{share}; its hit rate says little")
    elif asked is None and found.l2_sectors < THRESHOLDS.l2_background_sectors * found.launches:
        yield _of_little(f"{found.l2_sectors:.0f} sectors looked up in L2: no more than beside any kernel")


def _sm_sectors(found: Quantities) -> float | None:
    """Sectors that L2 looked up for the SMs, where the bytes of L2 were made from them."""
    if found.l2_bytes is None or _SM_SECTORS not in found.sources.get("l2_bytes", ""):
        return None
    return found.l2_bytes / BYTES_PER_SECTOR
