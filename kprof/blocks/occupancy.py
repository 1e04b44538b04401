"""The block ``occupancy``: how full the multiprocessors are, what stops them from being fuller, and the next step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from kprof.blocks.base import Block
from kprof.blocks.profiled import SOURCE, finish_profiled
from kprof.board import SmFacts
from kprof.counter_profile import CounterProfile
from kprof.counters.quantities import Quantities, whole
from kprof.evidence import Reason
from kprof.metrics import metric
from kprof.occupancy import BlockNeeds, Limits, barriers_of, limits, next_step, occupancy_pct

_COUNTERS_OR_RULES: Final = f"{SOURCE}, else the occupancy rules of the board's SM"
_RULES: Final = "the occupancy rules of the board's SM"
_MOST_APART_POINTS: Final = 0.5
"""Nsight Compute's CSV rounds to 0.01 points; one warp is 1.6 points of an SM's 64, 2.1 of 48."""

ALREADY_FULL: Final = "already_full"
"""Code for a next step where every warp slot can be filled."""
NEEDS_BOARD: Final = "needs_board"
"""Code for what only the board's spec can tell."""
SEVERAL_LAUNCHES: Final = "several_launches"
"""Code for a next step of launches together: each has its own, in ``kernels[]``."""
NO_STEP: Final = "no_step"
"""Code for a next step where no change of the block makes more warps fit."""
RULES_DISAGREE: Final = "theoretical_disagrees"
"""Code of counters and rules that disagree; a next step by the rules would then be a guess."""


class OccupancyBlock(Block, frozen=True, kw_only=True):
    """How full the multiprocessors are, and what stops them from being fuller."""

    achieved_pct: Annotated[
        float | None, metric("%", "Warps active on an SM while it is active, over those it holds", source=SOURCE)
    ] = None
    theoretical_pct: Annotated[
        float | None, metric("%", "Warps that fit on an SM, over those it holds", source=_COUNTERS_OR_RULES)
    ] = None
    limiter: Annotated[
        str | None,
        metric(
            "text",
            "What limits the blocks of an SM: registers, shared_memory, warps, blocks, barriers; several joined by +",
            source=_COUNTERS_OR_RULES,
        ),
    ] = None
    registers_per_thread: Annotated[int | None, metric("count", "Registers of a thread", source=SOURCE)] = None
    smem_static_bytes: Annotated[int | None, metric("bytes", "Static shared memory of a block", source=SOURCE)] = None
    smem_dynamic_bytes: Annotated[
        int | None, metric("bytes", "Dynamic shared memory of a block, without what the driver keeps", source=SOURCE)
    ] = None
    block_size: Annotated[int | None, metric("count", "Threads of a block", source=SOURCE)] = None
    grid_size: Annotated[int | None, metric("count", "Blocks of the grid", source=SOURCE)] = None
    waves_per_sm: Annotated[
        float | None, metric("ratio", "Grid over the blocks that the device holds at once", source=_COUNTERS_OR_RULES)
    ] = None
    next_step: Annotated[
        str | None, metric("text", "Smallest change that fits more warps, and what it brings", source=_RULES)
    ] = None


_SHOWN: Final = (
    "occupancy_pct", "theoretical_occupancy_pct", "registers_per_thread", "smem_static_bytes", "smem_dynamic_bytes",
    "block_size", "grid_size", "waves_per_sm", "blocks_by_registers", "blocks_by_smem", "blocks_by_warps",
    "blocks_by_blocks", "blocks_by_barriers",
)  # fmt: skip
_QUANTITY_OF: Final = {
    "achieved_pct": "occupancy_pct",
    "theoretical_pct": "theoretical_occupancy_pct",
    "limiter": "blocks_by_registers",
}
"""Whose reason explains a null; fields that are not here bear the quantity's own name."""


@dataclass(frozen=True)
class _Fit:
    """What can be said of the blocks that fit.

    Attributes:
        needs: of one block; None: not known.
        sm: the board's SM; None: not known.
        carveout_bytes: of shared memory, as configured for the launch.
        ruled: limits by the rules, at that carveout.
        reported: limits by the counters, else ``ruled``.
    """

    needs: BlockNeeds | None
    sm: SmFacts | None
    carveout_bytes: int | None
    ruled: Limits | None
    reported: Limits | None

    @property
    def ruled_pct(self) -> float | None:
        """Theoretical occupancy by the rules."""
        if self.ruled is None or self.needs is None or self.sm is None:
            return None
        return occupancy_pct(self.ruled.blocks_per_sm, self.needs.threads, self.sm)


@dataclass(frozen=True)
class _Next:
    """The next step, or the code for why there is none."""

    text: str | None
    code: str


def occupancy_block(profile: CounterProfile) -> OccupancyBlock:
    """What the counters and the rules of occupancy say.

    Theoretical occupancy and limits are the counters' where those were collected. ``waves_per_sm`` is the grid over
    (blocks that fit on an SM times SMs): a report of text rounds its own to 0.01, 2 blocks of 1056 to 0.00. That one
    is taken only where the limits or the number of SMs are not known.

    Args:
        profile: of one launch, or several; attributes of a launch are those of the one with most time.
    """
    found = profile.quantities
    fit = _fit(profile)
    theoretical = found.theoretical_occupancy_pct
    if theoretical is None:
        theoretical = fit.ruled_pct
    per_device = _blocks_per_device(profile, fit.reported)
    alone = found.launches == 1
    step = _next_step(profile, fit, theoretical, per_device) if alone else _Next(None, SEVERAL_LAUNCHES)
    block = OccupancyBlock(
        status="ok",
        source=SOURCE,
        warnings=tuple(_disagreement(found, fit.ruled_pct)) if alone else (),
        achieved_pct=found.occupancy_pct,
        theoretical_pct=theoretical,
        limiter=_limiter(fit),
        registers_per_thread=whole(found.registers_per_thread),
        smem_static_bytes=whole(found.smem_static_bytes),
        smem_dynamic_bytes=whole(found.smem_dynamic_bytes),
        block_size=whole(found.block_size),
        grid_size=whole(found.grid_size),
        waves_per_sm=found.grid_size / per_device if found.grid_size and per_device else found.waves_per_sm,
        next_step=step.text,
    )

    def explain(path: str) -> str:
        if path == "next_step":
            return step.code
        return found.missing.get(_QUANTITY_OF.get(path, path), NEEDS_BOARD)

    return finish_profiled(block, profile, _SHOWN, explain)


def _fit(profile: CounterProfile) -> _Fit:
    found = profile.quantities
    sm = profile.spec.sm if profile.spec is not None else None
    needs = _needs(found, sm)
    carveout = _carveout(found, needs, sm)
    ruled = limits(needs, sm, carveout) if needs is not None and sm is not None else None
    return _Fit(needs, sm, carveout, ruled, _reported(found) or ruled)


def _needs(found: Quantities, sm: SmFacts | None) -> BlockNeeds | None:
    registers, static, dynamic = found.registers_per_thread, found.smem_static_bytes, found.smem_dynamic_bytes
    if not found.block_size or registers is None or static is None or dynamic is None:
        return None
    by_barriers = found.blocks_by_barriers
    return BlockNeeds(
        threads=int(found.block_size),
        registers_per_thread=int(registers),
        shared_bytes=int(static + dynamic),
        barriers=barriers_of(int(by_barriers), sm) if by_barriers and sm is not None else 0,
    )


def _carveout(found: Quantities, needs: BlockNeeds | None, sm: SmFacts | None) -> int | None:
    """What the launch was configured with; None where it is not known, or too small for a block and so not believed."""
    configured = whole(found.smem_config_bytes)
    if configured is None or needs is None or sm is None:
        return None
    return configured if limits(needs, sm, configured).shared_memory != 0 else None


def _reported(found: Quantities) -> Limits | None:
    """The limits that the report holds. Older releases have none for barriers."""
    registers, shared = found.blocks_by_registers, found.blocks_by_smem
    warps, blocks = found.blocks_by_warps, found.blocks_by_blocks
    if registers is None or shared is None or warps is None or blocks is None:
        return None
    return Limits(
        registers=int(registers),
        shared_memory=int(shared),
        warps=int(warps),
        blocks=int(blocks),
        barriers=whole(found.blocks_by_barriers),
    )


def _limiter(fit: _Fit) -> str | None:
    """All that limit, save shared memory beside another where it is the driver's choice of carveout, not a need."""
    if fit.reported is None:
        return None
    names = fit.reported.limiters
    if len(names) > 1 and "shared_memory" in names and not _shared_memory_binds(fit, fit.reported.blocks_per_sm):
        names = tuple(name for name in names if name != "shared_memory")
    return "+".join(names)


def _shared_memory_binds(fit: _Fit, blocks: int) -> bool:
    """No carveout would let more blocks in; without the board: the kernel has shared memory of its own."""
    if fit.needs is None:
        return True
    if fit.sm is None:
        return fit.needs.shared_bytes > 0
    largest = limits(fit.needs, fit.sm).shared_memory
    return largest is not None and largest <= blocks


def _sm_count(profile: CounterProfile) -> int | None:
    if profile.quantities.sm_count:
        return int(profile.quantities.sm_count)
    return profile.spec.sm_count if profile.spec is not None else None


def _blocks_per_device(profile: CounterProfile, reported: Limits | None) -> int | None:
    """Blocks that the device holds at once."""
    sm_count = _sm_count(profile)
    return reported.blocks_per_sm * sm_count if reported is not None and sm_count is not None else None


def _disagreement(found: Quantities, ruled_pct: float | None) -> Iterator[Reason]:
    """Counters and rules that differ by more than rounding."""
    measured = found.theoretical_occupancy_pct
    if not _disagree(measured, ruled_pct):
        return
    size = found.cluster_size or 0
    why = (
        f"launched in clusters of {size:.0f} blocks, which must fit together" if size > 1 else "the cause is not known"
    )
    yield Reason(
        code=RULES_DISAGREE,
        message=f"theoretical occupancy is {measured:.4g} % by the counters, {ruled_pct:.4g} % by the rules ({why})",
        hint="The counters' value is shown.",
    )


def _disagree(measured: float | None, ruled_pct: float | None) -> bool:
    return measured is not None and ruled_pct is not None and abs(measured - ruled_pct) > _MOST_APART_POINTS


def _next_step(profile: CounterProfile, fit: _Fit, theoretical: float | None, per_device: int | None) -> _Next:
    """What to do for fuller SMs: more blocks first, where the grid does not fill the device once."""
    found = profile.quantities
    inner = _step_of_a_block(found, fit, theoretical)
    if not found.grid_size or not per_device or found.grid_size >= per_device:
        return inner
    blocks = "1 block" if found.grid_size == 1 else f"{found.grid_size:.0f} blocks"
    first = f"{blocks} on {_sm_count(profile)} SMs, where {per_device} fit at once: more blocks first"
    return _Next(f"{first}; then {inner.text}" if inner.text else first, inner.code)


def _step_of_a_block(found: Quantities, fit: _Fit, theoretical: float | None) -> _Next:
    if theoretical is not None and theoretical >= 100:
        return _Next(None, ALREADY_FULL)
    if fit.needs is None:
        lacking = ("block_size", "registers_per_thread", "smem_static_bytes", "smem_dynamic_bytes")
        return _Next(None, next((found.missing[name] for name in lacking if name in found.missing), NO_STEP))
    if fit.sm is None:
        return _Next(None, NEEDS_BOARD)
    if _disagree(found.theoretical_occupancy_pct, fit.ruled_pct):
        return _Next(None, RULES_DISAGREE)
    step = next_step(fit.needs, fit.sm, fit.carveout_bytes)
    return _Next(step.text, "") if step is not None else _Next(None, NO_STEP)
