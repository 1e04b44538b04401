"""What the display labels of ncu's details page stand for.

A label alone is ambiguous ("Memory Throughput" is a percentage in one section and bytes a second in another), so it
counts only with its section and its unit. Each entry was compared with the metric of the same launch in a recorded
report (Nsight Compute 2025.3.1; the tests do it again). Labels that changed their metric between releases are left
out: "SM Frequency" (clocks of the GPC or of the SM), "Issue Slots Busy" (over active or over elapsed cycles). So is
"Issued Warp Per Scheduler", which shows two digits of what "One or More Eligible" shows with four.
"""

from __future__ import annotations

from typing import Final

from kprof.collectors.ncu.units import parse_unit

_SOL: Final = "GPU Speed Of Light Throughput"
_MEMORY: Final = "Memory Workload Analysis"
_SCHEDULER: Final = "Scheduler Statistics"
_WARPS: Final = "Warp State Statistics"
_INSTRUCTIONS: Final = "Instruction Statistics"
_LAUNCH: Final = "Launch Statistics"
_OCCUPANCY: Final = "Occupancy"
_SHARED_BYTES: Final = ("byte", "byte/block")
_COUNT: Final = ("",)

LABELS: Final[dict[tuple[str, str], tuple[str, tuple[str, ...]]]] = {
    (_SOL, "Duration"): ("gpu__time_duration.sum", ("ns",)),
    (_SOL, "Elapsed Cycles"): ("gpc__cycles_elapsed.max", ("cycle",)),
    (_SOL, "SM Active Cycles"): ("sm__cycles_active.avg", ("cycle",)),
    (_SOL, "DRAM Frequency"): ("dram__cycles_elapsed.avg.per_second", ("hz",)),
    (_SOL, "Compute (SM) Throughput"): ("sm__throughput.avg.pct_of_peak_sustained_elapsed", ("%",)),
    (_SOL, "Memory Throughput"): ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", ("%",)),
    (_SOL, "DRAM Throughput"): ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", ("%",)),
    (_MEMORY, "Memory Throughput"): ("dram__bytes.sum.per_second", ("byte/s",)),
    (_MEMORY, "L1/TEX Hit Rate"): ("l1tex__t_sector_hit_rate.pct", ("%",)),
    (_MEMORY, "L2 Hit Rate"): ("lts__t_sector_hit_rate.pct", ("%",)),
    (_SCHEDULER, "One or More Eligible"): ("smsp__issue_active.avg.pct_of_peak_sustained_active", ("%",)),
    (_SCHEDULER, "Eligible Warps Per Scheduler"): ("smsp__warps_eligible.avg.per_cycle_active", ("warp", "")),
    (_WARPS, "Warp Cycles Per Issued Instruction"): ("smsp__average_warp_latency_per_inst_issued.ratio", ("cycle", "")),
    (_WARPS, "Warp Cycles Per Executed Instruction"): (
        "smsp__average_warps_active_per_inst_executed.ratio",
        ("cycle", ""),
    ),
    (_WARPS, "Avg. Active Threads Per Warp"): ("smsp__thread_inst_executed_per_inst_executed.ratio", ("thread", "")),
    (_WARPS, "Avg. Not Predicated Off Threads Per Warp"): (
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
        ("thread", ""),
    ),
    (_INSTRUCTIONS, "Executed Instructions"): ("smsp__inst_executed.sum", ("inst",)),
    (_INSTRUCTIONS, "Issued Instructions"): ("smsp__inst_issued.sum", ("inst",)),
    (_LAUNCH, "Block Size"): ("launch__block_size", _COUNT),
    (_LAUNCH, "Grid Size"): ("launch__grid_size", _COUNT),
    (_LAUNCH, "Cluster Size"): ("launch__cluster_size", _COUNT),
    (_LAUNCH, "Waves Per SM"): ("launch__waves_per_multiprocessor", _COUNT),
    (_LAUNCH, "# SMs"): ("launch__sm_count", ("SM", "")),
    (_LAUNCH, "Registers Per Thread"): ("launch__registers_per_thread", ("register/thread",)),
    (_LAUNCH, "Shared Memory Configuration Size"): ("launch__shared_mem_config_size", ("byte",)),
    (_LAUNCH, "Driver Shared Memory Per Block"): ("launch__shared_mem_per_block_driver", _SHARED_BYTES),
    (_LAUNCH, "Dynamic Shared Memory Per Block"): ("launch__shared_mem_per_block_dynamic", _SHARED_BYTES),
    (_LAUNCH, "Static Shared Memory Per Block"): ("launch__shared_mem_per_block_static", _SHARED_BYTES),
    (_OCCUPANCY, "Block Limit SM"): ("launch__occupancy_limit_blocks", ("block",)),
    (_OCCUPANCY, "Block Limit Registers"): ("launch__occupancy_limit_registers", ("block",)),
    (_OCCUPANCY, "Block Limit Shared Mem"): ("launch__occupancy_limit_shared_mem", ("block",)),
    (_OCCUPANCY, "Block Limit Warps"): ("launch__occupancy_limit_warps", ("block",)),
    (_OCCUPANCY, "Block Limit Barriers"): ("launch__occupancy_limit_barriers", ("block",)),
    (_OCCUPANCY, "Theoretical Occupancy"): ("sm__maximum_warps_per_active_cycle_pct", ("%",)),
    (_OCCUPANCY, "Achieved Occupancy"): ("sm__warps_active.avg.pct_of_peak_sustained_active", ("%",)),
}
"""Section and label to the metric, and the base units in which it is that metric."""

_WITHOUT_DRAM: Final = frozenset({"8.7", "10.1", "11.0", "12.1"})
"""Parts with no DRAM of their own, to which Nsight Compute's section files give no ``dram__*`` metrics. What these
labels show there is not known; on one such part "Memory Throughput" was seen to equal that of L2."""


def metric_of_label(section: str, label: str, unit: str | None, compute_capability: str) -> str | None:
    """The metric that a label shows; None where nobody checked, or where the unit says that it is another.

    Args:
        unit: None in a table without units, where the section alone tells the metric; what its value is worth there is
            judged apart.
    """
    found = LABELS.get((section, label))
    if found is None:
        return None
    name, bases = found
    if name.startswith(("dram__", "gpu__dram")) and compute_capability in _WITHOUT_DRAM:
        return None
    known = None if unit is None else parse_unit(unit)
    return None if known is not None and known.base not in bases else name
