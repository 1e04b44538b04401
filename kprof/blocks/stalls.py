"""The block ``stalls``: why warps wait, from counters of warp states or from samples of them.

Counters (``smsp__average_warps_issue_stalled_*_per_issue_active.ratio``) are cycles in a state per issued instruction;
a share of all states is that over the warp cycles of an instruction, as Nsight Compute's rule CPIStall has it. Samples
are shares first; their cycles are the share times the warp cycles of an instruction. On an H200 the two name the same
largest stall; shares differ by 0.3 points where warps wait for memory, by up to 10 where they queue for a pipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from kprof.audit import LIMITS, SHORT_KERNEL, SUM_MISMATCH, is_short
from kprof.blocks.base import Block
from kprof.blocks.profiled import SOURCE, finish_profiled
from kprof.bottleneck.thresholds import THRESHOLDS as BOTTLENECK
from kprof.counter_profile import CounterProfile
from kprof.counters.families import BENIGN_STATES, MAIN_STATES
from kprof.counters.quantities import Quantities
from kprof.counters.resolve import NOT_COLLECTED, ZERO_DENOMINATOR
from kprof.evidence import Reason, Record
from kprof.metrics import metric

TOO_FEW_SAMPLES: Final = "too_few_samples"
STATES_INCOMPLETE: Final = "states_incomplete"
"""Code for shares of a whole that was not collected as a whole."""
_LATENCY: Final = "warp_cycles_per_instruction"


@dataclass(frozen=True, kw_only=True)
class StallThresholds:
    """What states and samples must be, to be taken for what they say."""

    least_samples: float = BOTTLENECK.least_samples
    """As many as a label rests on."""
    most_sum_apart: float = 0.05
    """States over warp cycles, away from 1."""
    top: int = 5


THRESHOLDS: Final = StallThresholds()


class Stall(Record, frozen=True, kw_only=True):
    """One reason for which warps wait."""

    reason: Annotated[str, metric("text", "Which reason", source=SOURCE)]
    cycles_per_instruction: Annotated[
        float | None,
        metric("cycles/instruction", "Warp cycles in it per issued instruction", better="lower", source=SOURCE),
    ] = None
    share_pct: Annotated[float | None, metric("%", "Share of all warp states", source=SOURCE)] = None


class StallsBlock(Block, frozen=True, kw_only=True):
    """Why warps wait. ``top`` leaves out ``selected`` and ``not_selected``."""

    top: Annotated[
        tuple[Stall, ...] | None, metric("record", "The five largest reasons, largest first", source=SOURCE)
    ] = None
    all: Annotated[tuple[Stall, ...] | None, metric("record", "Every warp state, largest first", source=SOURCE)] = None
    warp_cycles_per_instruction: Annotated[
        float | None, metric("cycles/instruction", "Warp cycles per issued instruction", better="lower", source=SOURCE)
    ] = None
    method: Annotated[
        str | None, metric("text", "counters, or samples with their number; and what shares are of", source=SOURCE)
    ] = None


@dataclass(frozen=True)
class _States:
    """All warp states by one method.

    Attributes:
        stalls: every state, largest first; None: nothing can be said of any.
        method: as the block says it.
        code: for each null in the stalls, or for the stalls.
        cycles_code: for null cycles, where those lack something else.
        warnings: about the states.
    """

    stalls: tuple[Stall, ...] | None
    method: str | None
    code: str
    cycles_code: str = ""
    warnings: tuple[Reason, ...] = ()


def stalls_block(profile: CounterProfile) -> StallsBlock:
    """Warp states by the method that can be trusted more: counters, or samples for a short kernel that has enough.

    Args:
        profile: of one launch, or several together.
    """
    found = profile.quantities
    states = _states(found)
    told = {SUM_MISMATCH, SHORT_KERNEL} if profile.findings_on("stall_cycles") else set()
    block = StallsBlock(
        status="ok",
        source=SOURCE,
        warnings=tuple(warning for warning in states.warnings if warning.code not in told),
        top=_top(states.stalls),
        all=states.stalls,
        warp_cycles_per_instruction=found.warp_cycles_per_instruction,
        method=states.method,
    )

    def explain(path: str) -> str:
        if path == _LATENCY:
            return found.missing.get(_LATENCY, NOT_COLLECTED)
        return (states.cycles_code if path.endswith("cycles_per_instruction") else "") or states.code

    return finish_profiled(block, profile, (_LATENCY, "stall_cycles", "stall_samples"), explain)


def _states(found: Quantities) -> _States:
    samples = sum(found.stall_samples.values())
    enough = samples >= THRESHOLDS.least_samples
    if found.stall_cycles and not (enough and is_short(found)):
        return _from_counters(found)
    if not found.stall_samples:
        return _States(None, None, NOT_COLLECTED)
    if not enough:
        return _too_few(samples)
    return _from_samples(found, samples)


def _from_counters(found: Quantities) -> _States:
    cycles, latency = found.stall_cycles, found.warp_cycles_per_instruction
    if latency is not None and latency > 0:
        return _States(_by_cycles(cycles, latency), "counters", NOT_COLLECTED, warnings=tuple(_audit(found, latency)))
    total = sum(cycles.values())
    lacking = _lacking(cycles)
    if lacking:
        return _States(_by_cycles(cycles, None), "counters", STATES_INCOMPLETE, warnings=(lacking,))
    if not total:
        return _States(_by_cycles(cycles, None), "counters", ZERO_DENOMINATOR)
    return _States(_by_cycles(cycles, total), "counters, shares of the sum of all states", NOT_COLLECTED)


def _from_samples(found: Quantities, samples: float) -> _States:
    method = f"samples ({samples:.0f})"
    lacking = _lacking(found.stall_samples)
    if lacking:
        return _States(None, method, STATES_INCOMPLETE, warnings=(lacking,))
    latency = found.warp_cycles_per_instruction
    stalls = tuple(
        Stall(
            reason=name,
            cycles_per_instruction=None if latency is None else count / samples * latency,
            share_pct=100.0 * count / samples,
        )
        for name, count in _largest_first(found.stall_samples)
    )
    return _States(stalls, method, NOT_COLLECTED, cycles_code=found.missing.get(_LATENCY, NOT_COLLECTED))


def _too_few(samples: float) -> _States:
    reason = Reason(
        code=TOO_FEW_SAMPLES,
        message=f"{samples:.0f} samples of warp states, {THRESHOLDS.least_samples} are needed for a share",
        hint="A larger problem gives more; --counters full collects the counters of warp states instead.",
    )
    return _States(None, f"samples ({samples:.0f})", TOO_FEW_SAMPLES, warnings=(reason,))


def _by_cycles(cycles: Mapping[str, float], whole: float | None) -> tuple[Stall, ...]:
    """Every state, largest first, with its share of ``whole`` cycles per instruction."""
    return tuple(
        Stall(reason=name, cycles_per_instruction=value, share_pct=None if whole is None else 100.0 * value / whole)
        for name, value in _largest_first(cycles)
    )


def _largest_first(states: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(states.items(), key=lambda state: (-state[1], state[0]))


def _top(stalls: tuple[Stall, ...] | None) -> tuple[Stall, ...] | None:
    """The first of ``stalls`` that are waits."""
    if stalls is None:
        return None
    return tuple(one for one in stalls if one.reason not in BENIGN_STATES)[: THRESHOLDS.top]


def _lacking(states: Mapping[str, float]) -> Reason | None:
    """The warning for a sum that lacks states."""
    lacking = sorted(MAIN_STATES - states.keys())
    if not lacking:
        return None
    return Reason(
        code=STATES_INCOMPLETE,
        message=f"{len(states)} warp states were collected; {', '.join(lacking)} were not",
        hint="Collect all warp states to have all reasons.",
    )


def _audit(found: Quantities, latency: float) -> Iterator[Reason]:
    """The states of a warp are all of its time: their sum is the warp cycles of an instruction."""
    lacking = _lacking(found.stall_cycles)
    if lacking:
        yield lacking
        return
    total = sum(found.stall_cycles.values())
    ratio = total / latency
    if abs(ratio - 1) <= THRESHOLDS.most_sum_apart:
        return
    message = f"all warp states make {total:.4g} cycles an instruction, {ratio:.3f} of the {latency:.4g} counted"
    if is_short(found):
        yield Reason(
            code=SHORT_KERNEL,
            message=f"{message}: a kernel under {LIMITS.short_us:.0f} us, counted in several passes",
            hint="Take the order of the reasons, not their exact shares.",
        )
    else:
        yield Reason(code=SUM_MISMATCH, message=f"{message}: the shares are off by as much")
