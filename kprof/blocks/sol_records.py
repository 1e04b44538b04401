"""The record of the block ``sol``."""

from __future__ import annotations

from typing import Annotated, Final

from kprof.blocks.base import Block
from kprof.blocks.profiled import SOURCE as NCU
from kprof.metrics import metric

OF_THE_TASK: Final = "of_the_whole_task"
"""Code of what a single launch has none of: the floor is that of the whole call."""
NCU_AND_SPEC: Final = f"{NCU} and the board's spec"
FLOOR: Final = "algorithmic minimum of the task and the board's spec"


class SolBlock(Block, frozen=True, kw_only=True):
    """How busy the hardware is (``score``), and how far the result is from the best possible (``task_score``).

    Percentages are of the spec's peak where it states one: DRAM's bandwidth, and of a math pipe with a dense peak the
    share that it was busy times the observed clock over the clock of that peak. Elsewhere they are of the counter's.
    """

    score: Annotated[
        float | None,
        metric("ratio", "Busiest unit over elapsed time, 0 to 1, not clamped", better="higher", source=NCU_AND_SPEC),
    ] = None
    score_unit: Annotated[str | None, metric("text", "The busiest unit", source=NCU)] = None
    dram_util_pct: Annotated[float | None, metric("%", "DRAM bandwidth used", better="higher", source=NCU_AND_SPEC)] = (
        None
    )
    memory_util_pct: Annotated[
        float | None, metric("%", "The busiest memory level", better="higher", source=NCU_AND_SPEC)
    ] = None
    compute_util_pct: Annotated[
        float | None, metric("%", "The busier of issue slots and math pipes", better="higher", source=NCU_AND_SPEC)
    ] = None
    issue_util_pct: Annotated[float | None, metric("%", "Issue slots used", better="higher", source=NCU)] = None
    dominant_pipe_pct: Annotated[
        float | None, metric("%", "How busy dominant_pipe was", better="higher", source=NCU_AND_SPEC)
    ] = None
    dominant_pipe: Annotated[str | None, metric("text", "The busiest math pipe", source=NCU)] = None
    task_score: Annotated[
        float | None, metric("ratio", "floor_us / timing.kernel_us, not clamped", better="higher", source=FLOOR)
    ] = None
    floor_us: Annotated[float | None, metric("us", "Least time the task could take here", source=FLOOR)] = None
    floor_bytes: Annotated[
        int | None, metric("bytes", "Inputs, used parameters and outputs, each element once", source=FLOOR)
    ] = None
    floor_dram_bytes: Annotated[
        int | None, metric("bytes", "Of them, less the outputs that L2 can hold: what DRAM must move", source=FLOOR)
    ] = None
    floor_flop: Annotated[
        int | None, metric("FLOP", "FLOP of the reference, as far as counted", source="torch's FLOP counter")
    ] = None
    floor_kind: Annotated[
        str | None,
        metric(
            "text",
            "algorithmic: bytes and FLOP counted; bytes_only: no FLOP in it, may be too low; upper_estimate: the task "
            "may need less, may be too high",
            source=FLOOR,
        ),
    ] = None
    headroom: Annotated[
        float | None,
        metric("ratio", "Time over floor: how many times faster is possible", better="lower", source=FLOOR),
    ] = None
    traffic_amplification: Annotated[
        float | None, metric("ratio", "DRAM bytes moved over floor_dram_bytes", better="lower", source=NCU)
    ] = None
