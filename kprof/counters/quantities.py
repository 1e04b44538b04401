"""The table: every quantity that analysis reads, with ncu's names for it by architecture and release.

One declaration a quantity: its field here and in the two records below this one. Analysis reads the field, the
collector asks ncu for the names. Names are in order of preference; where none of them has a value the formulas over
other names are tried. Which names an ncu knows for a chip is asked of it, never assumed.

Sources of names and weights: the section files that travel with Nsight Compute, its ``--query-metrics`` text, and what
an H200 answered (Nsight Compute 2025.3.1).
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, get_type_hints

import msgspec

from kprof.counters.compute import ComputeQuantities
from kprof.counters.formulas import Quantity, quantity
from kprof.counters.names import attribute


class Quantities(ComputeQuantities, frozen=True, kw_only=True):
    """What one launch, or several as one, did. None: not measured; ``missing`` says why."""

    # The launch
    grid_size: Annotated[float | None, attribute("launch__grid_size", least=1.0)] = None
    block_size: Annotated[float | None, attribute("launch__block_size", least=1.0)] = None
    registers_per_thread: Annotated[float | None, attribute("launch__registers_per_thread")] = None
    smem_static_bytes: Annotated[float | None, attribute("launch__shared_mem_per_block_static", unit="bytes")] = None
    smem_dynamic_bytes: Annotated[float | None, attribute("launch__shared_mem_per_block_dynamic", unit="bytes")] = None
    smem_driver_bytes: Annotated[float | None, attribute("launch__shared_mem_per_block_driver", unit="bytes")] = None
    smem_config_bytes: Annotated[float | None, attribute("launch__shared_mem_config_size", unit="bytes")] = None
    waves_per_sm: Annotated[float | None, attribute("launch__waves_per_multiprocessor", unit="ratio", whole=False)] = (
        None
    )
    cluster_size: Annotated[float | None, attribute("launch__cluster_size")] = None
    blocks_by_blocks: Annotated[float | None, attribute("launch__occupancy_limit_blocks")] = None
    blocks_by_registers: Annotated[float | None, attribute("launch__occupancy_limit_registers")] = None
    blocks_by_smem: Annotated[float | None, attribute("launch__occupancy_limit_shared_mem")] = None
    blocks_by_warps: Annotated[float | None, attribute("launch__occupancy_limit_warps")] = None
    blocks_by_barriers: Annotated[float | None, attribute("launch__occupancy_limit_barriers")] = None

    # The device, as the report has it
    sm_count: Annotated[
        float | None, attribute("device__attribute_multiprocessor_count", "launch__sm_count", least=1.0)
    ] = None
    memory_bytes: Annotated[float | None, attribute("device__attribute_total_memory", unit="bytes", least=1.0)] = None
    l2_size_bytes: Annotated[float | None, attribute("device__attribute_l2_cache_size", unit="bytes")] = None
    max_sm_clock_khz: Annotated[float | None, attribute("device__attribute_max_gpu_frequency_khz", unit="khz")] = None
    passes: Annotated[float | None, quantity("count", "largest", "profiler__replayer_passes", asked=False)] = None

    # Families of metrics, gathered by `kprof.counters.resolve`
    stall_cycles: dict[str, float] = msgspec.field(default_factory=dict)
    """Cycles in each warp state per issued instruction, by reason (aggregate spelling)."""
    stall_samples: dict[str, float] = msgspec.field(default_factory=dict)
    """Samples in each warp state, by reason."""
    tensor_flop: dict[str, float] = msgspec.field(default_factory=dict)
    """Operations of the tensor cores by source type; empty: not collected."""
    device_name: str | None = None

    launches: int = 1
    """How many launches these numbers are of."""
    sources: dict[str, str] = msgspec.field(default_factory=dict)
    """The name or formula that answered, by quantity."""
    missing: dict[str, str] = msgspec.field(default_factory=dict)
    """Code of the reason, by quantity that is None."""

    @property
    def tensor_is_idle(self) -> bool:
        """No tensor operation ran, whether or not the counters of operations were collected.

        The pipe alone being busy proves nothing: FP16 vector instructions run there too on some chips.
        """
        parts = (self.matrix_pct, self.tensor_fp64_pct, self.tensor_int_pct)
        return self.tensor_pct == 0.0 or all(part == 0.0 for part in parts)


def whole(value: float | None) -> int | None:
    """A quantity that counts something, as a count."""
    return None if value is None else int(value)


@cache
def table() -> dict[str, Quantity]:
    """Every declared quantity by the name of its field."""
    found: dict[str, Quantity] = {}
    for name, hint in get_type_hints(Quantities, include_extras=True).items():
        declared = next((meta for meta in getattr(hint, "__metadata__", ()) if isinstance(meta, Quantity)), None)
        if declared is not None:
            found[name] = declared
    return found
