"""How many blocks of a kernel fit on one SM, what stops one more, and the smallest change that lets it in.

The rules are those of NVIDIA's ``cuda_occupancy.h`` (CUDA 13.0), over the facts of one SM. Held against every launch
of two recorded H200 reports (Nsight Compute 2025.3.1): they give each of its ``launch__occupancy_limit_*`` exactly,
if two of its ways are known. Its shared memory limit is that of the carveout the driver set for the launch
(``launch__shared_mem_config_size``), which the driver enlarges when more would fit; its barrier limit is never above
the block limit. So a limit by shared memory binds only where the largest carveout would not lift it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from kprof.board import SmFacts

LIMITERS: Final = ("registers", "shared_memory", "warps", "blocks", "barriers")
"""What can limit the blocks of an SM, in the order in which they are named."""


@dataclass(frozen=True, kw_only=True)
class BlockNeeds:
    """What one block asks of an SM.

    Attributes:
        threads: of a block.
        registers_per_thread: as compiled, before rounding.
        shared_bytes: static and dynamic together, without what the driver keeps.
        barriers: named barriers; 0: none, or not known.
    """

    threads: int
    registers_per_thread: int
    shared_bytes: int
    barriers: int = 0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Blocks that fit on one SM by each resource alone; None: that resource sets no limit."""

    warps: int
    blocks: int
    registers: int | None = None
    shared_memory: int | None = None
    barriers: int | None = None

    @property
    def blocks_per_sm(self) -> int:
        """Blocks that fit by all of them."""
        return min(limit for limit in self._all() if limit is not None)

    @property
    def limiters(self) -> tuple[str, ...]:
        """All that equal the least. Barriers not beside blocks: there the number of block slots is what is reported."""
        least = self.blocks_per_sm
        names = tuple(name for name, limit in zip(LIMITERS, self._all(), strict=True) if limit == least)
        return tuple(name for name in names if name != "barriers" or "blocks" not in names)

    def _all(self) -> tuple[int | None, ...]:
        return self.registers, self.shared_memory, self.warps, self.blocks, self.barriers


@dataclass(frozen=True, kw_only=True)
class Step:
    """A change of what a block asks for, and what it brings.

    Attributes:
        old: what a block asks for today.
        new: what it should ask for.
        carveout_bytes: shared memory that the SM must be set to; None: what the driver chooses does.
        blocks: that fit on an SM then.
        old_pct: theoretical occupancy today.
        new_pct: theoretical occupancy then.
    """

    old: BlockNeeds
    new: BlockNeeds
    carveout_bytes: int | None
    blocks: int
    old_pct: float
    new_pct: float

    @property
    def text(self) -> str:
        """As a sentence: ``6 fewer registers a thread: 4 blocks an SM, 50 -> 67 %``."""
        changes = " and ".join(self._changes())
        blocks = "1 block" if self.blocks == 1 else f"{self.blocks} blocks"
        return f"{changes}: {blocks} an SM, {_shown(self.old_pct)} -> {_shown(self.new_pct)} %"

    def _changes(self) -> Iterator[str]:
        if self.new.threads != self.old.threads:
            yield f"{self.new.threads}-thread blocks"
        fewer = self.old.registers_per_thread - self.new.registers_per_thread
        if fewer:
            yield f"{fewer} fewer register{'s' * (fewer > 1)} a thread"
        if self.new.shared_bytes < self.old.shared_bytes:
            yield f"{self.old.shared_bytes - self.new.shared_bytes} fewer bytes of shared memory a block"
        if self.new.barriers < self.old.barriers:
            yield f"at most {self.new.barriers} named barriers a block"
        if self.carveout_bytes is not None:
            yield f"a shared memory carveout of {self.carveout_bytes // 1024} KiB"


def limits(needs: BlockNeeds, sm: SmFacts, carveout_bytes: int | None = None) -> Limits:
    """Blocks that fit on one SM by each of its resources.

    Args:
        needs: of one block.
        sm: the SM.
        carveout_bytes: shared memory that the SM is set to; None: the largest, which the driver chooses where needed.
    """
    warps = _warps(needs.threads, sm)
    barriers = sm.max_blocks
    if needs.barriers:
        barriers = min(barriers, sm.max_blocks * sm.barrier_pool_factor // needs.barriers)
    return Limits(
        warps=0 if needs.threads > sm.max_threads_per_block else sm.max_warps // warps,
        blocks=sm.max_blocks,
        registers=_by_registers(needs.registers_per_thread, warps, sm),
        shared_memory=_by_shared_memory(needs.shared_bytes, sm, carveout_bytes),
        barriers=barriers,
    )


def occupancy_pct(blocks: int, threads: int, sm: SmFacts) -> float:
    """Warps of ``blocks`` blocks over the warps that an SM holds, %."""
    return 100.0 * blocks * _warps(threads, sm) / sm.max_warps


def barriers_of(limit: int, sm: SmFacts) -> int:
    """The most named barriers a block can have where so many blocks fit by them; 0: they set no limit."""
    return sm.max_blocks * sm.barrier_pool_factor // limit if 0 < limit < sm.max_blocks else 0


@lru_cache(maxsize=4096)
def next_step(needs: BlockNeeds, sm: SmFacts, carveout_bytes: int | None = None) -> Step | None:
    """The smallest change that raises theoretical occupancy; None: none does.

    First a larger carveout, which costs nothing; then what fits one more block of the same size: fewer registers (in
    steps of what is given out), less shared memory, fewer barriers, all that are needed at once. Where warps or block
    slots limit, the nearest block size with more warps on an SM, the rest of a block's needs as they are, or cut so
    far as that needs.

    Args:
        needs: of one block.
        sm: the SM.
        carveout_bytes: shared memory that the SM is set to; None: the largest.
    """
    today = limits(needs, sm, carveout_bytes).blocks_per_sm
    old_pct = occupancy_pct(today, needs.threads, sm)
    if carveout_bytes is not None and limits(needs, sm).blocks_per_sm > today:
        return _larger_carveout(needs, sm, today, old_pct)
    for new in _candidates(needs, sm, today):
        blocks = limits(new, sm).blocks_per_sm
        new_pct = occupancy_pct(blocks, new.threads, sm)
        if new_pct > old_pct:
            return Step(old=needs, new=new, carveout_bytes=None, blocks=blocks, old_pct=old_pct, new_pct=new_pct)
    return None


def _larger_carveout(needs: BlockNeeds, sm: SmFacts, today: int, old_pct: float) -> Step | None:
    for size in sm.shared_carveouts_bytes:
        blocks = limits(needs, sm, size).blocks_per_sm
        if blocks > today:
            new_pct = occupancy_pct(blocks, needs.threads, sm)
            return Step(old=needs, new=needs, carveout_bytes=size, blocks=blocks, old_pct=old_pct, new_pct=new_pct)
    return None


def _candidates(needs: BlockNeeds, sm: SmFacts, today: int) -> Iterator[BlockNeeds]:
    """Changes to try, the smallest first: the block kept; its size alone; its size and what else that needs."""
    one_more = _cut(needs, sm, today + 1)
    if one_more is not None:
        yield one_more
    warps = _warps(needs.threads, sm)
    most = sm.max_threads_per_block // sm.warp_size
    # Of two sizes equally near the larger one first: it needs fewer block slots.
    sizes = sorted((size for size in range(1, most + 1) if size != warps), key=lambda size: (abs(size - warps), -size))
    resized = [replace(needs, threads=size * sm.warp_size) for size in sizes]
    yield from resized
    for size, other in zip(sizes, resized, strict=True):
        smaller = _cut(other, sm, today * warps // size + 1)
        if smaller is not None:
            yield smaller


def _cut(needs: BlockNeeds, sm: SmFacts, blocks: int) -> BlockNeeds | None:
    """The same block with as much less of registers, shared memory and barriers as lets ``blocks`` of it fit."""
    warps = _warps(needs.threads, sm)
    if blocks > sm.max_blocks or blocks * warps > sm.max_warps:
        return None
    shared_bytes = needs.shared_bytes
    if shared_bytes:
        room = min(sm.shared_bytes // blocks, sm.shared_bytes_per_block_optin + sm.shared_reserved_bytes_per_block)
        whole = room // sm.shared_granularity_bytes * sm.shared_granularity_bytes
        shared_bytes = min(shared_bytes, whole - sm.shared_reserved_bytes_per_block)
    pool = sm.max_blocks * sm.barrier_pool_factor
    new = replace(
        needs,
        registers_per_thread=min(needs.registers_per_thread, _registers_for(blocks, warps, sm)),
        shared_bytes=shared_bytes,
        barriers=min(needs.barriers, pool // blocks),
    )
    fits = new.registers_per_thread > 0 and new.shared_bytes >= 0 and limits(new, sm).blocks_per_sm >= blocks
    return new if fits else None


def _registers_for(blocks: int, warps: int, sm: SmFacts) -> int:
    """The most registers a thread with which so many blocks fit."""
    warps_a_partition = -(-blocks * warps // sm.sub_partitions)
    room = sm.registers // sm.sub_partitions // warps_a_partition
    return room // sm.register_granularity * sm.register_granularity // sm.warp_size


def _warps(threads: int, sm: SmFacts) -> int:
    return -(-threads // sm.warp_size)


def _rounded_up(value: int, granularity: int) -> int:
    return -(-value // granularity) * granularity


def _by_registers(registers_per_thread: int, warps: int, sm: SmFacts) -> int | None:
    """Registers are given out a warp, from the file of the sub-partition that the warp runs on."""
    if not registers_per_thread:
        return None
    of_warp = _rounded_up(registers_per_thread * sm.warp_size, sm.register_granularity)
    if of_warp * _rounded_up(warps, sm.sub_partitions) > sm.max_registers_per_block:
        return 0
    return sm.registers // sm.sub_partitions // of_warp * sm.sub_partitions // warps


def _by_shared_memory(shared_bytes: int, sm: SmFacts, carveout_bytes: int | None) -> int | None:
    given = _rounded_up(shared_bytes + sm.shared_reserved_bytes_per_block, sm.shared_granularity_bytes)
    if not given:
        return None
    if given > sm.shared_bytes_per_block_optin + sm.shared_reserved_bytes_per_block:
        return 0
    return (sm.shared_bytes if carveout_bytes is None else carveout_bytes) // given


def _shown(pct: float) -> str:
    return f"{pct:.0f}" if pct >= 10 else f"{pct:.1f}"
