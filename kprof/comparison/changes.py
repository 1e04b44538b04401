"""Each number of two reports: by how much it changed, whether that is beyond its noise, and which way is better."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kprof.comparison.noise import SHORT_US, STALL_POINTS, repeatability_pct
from kprof.comparison.records import MetricChange, Outcome, Value
from kprof.gates.change import Change
from kprof.gates.noise import noise_of
from kprof.gates.paths import MetricPath, look_up, parse_path, part
from kprof.gates.possible import IMPOSSIBLE_TIME

METRICS: Final[tuple[tuple[str, str], ...]] = (
    ("timing.kernel_us", "kernel time"),
    ("timing.ref_us", "reference time"),
    ("timing.speedup", "speedup over the reference"),
    ("timing.sm_clock_mhz", "SM clock while timed"),
    ("precision.passed", "result is right"),
    ("precision.max_abs_error", "max abs error"),
    ("launches.kernel_launches", "kernels launched"),
    ("launches.kernel_host_launches", "launch calls on the host"),
    ("launches.kernel_device_time_us", "sum of kernel times"),
    ("memory.kernel_peak_mb", "peak memory"),
    ("waterfall.gap_us", "waiting for the host"),
    ("waterfall.idle_us", "idle between kernels"),
    ("sol.task_score", "share of the best speed"),
    ("bottleneck.family", "bound"),
    ("bottleneck.limiter", "limiter"),
    ("sol.score", "busiest unit"),
    ("sol.score_unit", "which unit that is"),
    ("roofline.profiled_us", "time under ncu"),
    ("roofline.dram_bytes", "DRAM bytes"),
    ("roofline.dram_bandwidth_gbs", "DRAM bandwidth"),
    ("roofline.l2_bytes", "L2 bytes"),
    ("roofline.total_flop", "FLOP"),
    ("roofline.fp32_tflops", "FP32 rate"),
    ("roofline.arithmetic_intensity", "FLOP/byte at DRAM"),
    ("roofline.roofline_pct", "share of the roofline"),
    ("roofline.sm_clock_mhz", "SM clock under ncu"),
    ("sol.issue_util_pct", "issue slots used"),
    ("sol.dominant_pipe_pct", "busiest math pipe"),
    ("occupancy.achieved_pct", "achieved occupancy"),
    ("occupancy.theoretical_pct", "theoretical occupancy"),
    ("occupancy.limiter", "occupancy limited by"),
    ("occupancy.registers_per_thread", "registers a thread"),
    ("occupancy.smem_static_bytes", "static shared memory"),
    ("occupancy.smem_dynamic_bytes", "dynamic shared memory"),
    ("occupancy.block_size", "threads a block"),
    ("occupancy.grid_size", "blocks"),
    ("occupancy.waves_per_sm", "waves"),
    ("caches.l1_hit_pct", "L1 hits"),
    ("caches.l2_hit_pct", "L2 hits"),
    ("caches.ld_sectors_per_request", "sectors a load"),
    ("caches.st_sectors_per_request", "sectors a store"),
    ("caches.ld_efficiency_pct", "bytes used of loads"),
    ("caches.st_efficiency_pct", "bytes used of stores"),
    ("caches.bank_conflicts", "bank conflicts"),
    ("caches.local_bytes", "local memory traffic"),
    ("stalls.warp_cycles_per_instruction", "warp cycles an instruction"),
)
"""What is compared, in the order in which it is read, and what people call it."""
EXPLAINS: Final = frozenset(
    {
        "roofline.fp32_tflops", "sol.issue_util_pct", "sol.dominant_pipe_pct", "caches.l1_hit_pct", "caches.l2_hit_pct",
        "caches.ld_sectors_per_request", "caches.st_sectors_per_request", "stalls.warp_cycles_per_instruction",
    }
)  # fmt: skip
"""Between two kernels these say how one is unlike the other, and neither way is better: a kernel with half the
instructions uses fewer issue slots, one that loads 16 bytes a thread asks for four times the sectors at once."""
_WITH_SAMPLES: Final = frozenset({"timing.kernel_us", "timing.ref_us", "timing.speedup", "sol.task_score"})


def metric_changes(a: dict[str, Any], b: dict[str, Any]) -> tuple[MetricChange, ...]:
    """Every metric that at least one of the two reports has, and each type and state of those that come in families."""
    found = [_change(path, label, a, b) for path, label in METRICS]
    found += [*_tensor_rates(a, b), *_stall_shares(a, b)]
    return tuple(one for one in found if one.a is not None or one.b is not None)


def _change(text: str, label: str, a: dict[str, Any], b: dict[str, Any]) -> MetricChange:
    path = parse_path(text)
    found = [look_up(each, path)[0] for each in (a, b)]
    one, other = (each.value for each in found)
    codes = [_why_null(path, each) for each in (a, b)]
    if any(each.code == IMPOSSIBLE_TIME for each in found):
        named = (text, label, path.field.unit, None)
        return msgspec.structs.replace(compared(named, (one, other), noise_pct=0.0), change_pct=None, outcome="unknown")
    if text in _WITH_SAMPLES and _numbers(one, other):
        sampled = _by_samples(path, label, a, b)
        if sampled is not None:
            return sampled
    short = any(_is_short(each) for each in (a, b))
    noise = repeatability_pct(path.block, str(path.steps[-1]), path.field.unit, short=short)
    return compared(
        (text, label, path.field.unit, None if text in EXPLAINS else path.field.better),
        (one, other),
        noise_pct=noise,
        reasons=(codes[0] if one is None else None, codes[1] if other is None else None),
    )


def compared(
    named: tuple[str, str, str, Any],
    values: tuple[Value | None, Value | None],
    *,
    noise_pct: float,
    reasons: tuple[str | None, str | None] = (None, None),
    least: float = 0.0,
) -> MetricChange:
    """Two values whose noise is a share of them.

    Args:
        named: path, label, unit, better direction.
        values: of a and b.
        noise_pct: a change within it is none.
        reasons: codes for nulls.
        least: a difference within it is none either, in the unit.
    """
    path, label, unit, better = named
    a, b = values
    share = 100.0 * (b / a - 1.0) if _numbers(a, b) and a else None  # type: ignore[operator]
    return MetricChange(
        path=path,
        label=label,
        unit=unit,
        better=better,
        a=a,
        b=b,
        change_pct=share,
        interval_pct=None,
        noise_pct=noise_pct,
        outcome=_outcome(a, b, better, noise_pct, least),
        reason_a=reasons[0],
        reason_b=reasons[1],
    )


def _outcome(a: Value | None, b: Value | None, better: str | None, noise_pct: float, least: float) -> Outcome:
    if a is None or b is None:
        return "unknown"
    if a == b:
        return "same"
    if isinstance(a, str) or isinstance(b, str):
        return "changed"
    if abs(b - a) <= max(noise_pct / 100.0 * max(abs(a), abs(b)), least):
        return "within_noise"
    return _direction(a, b, better)


def _direction(a: float, b: float, better: str | None) -> Outcome:
    if better is None:
        return "changed"
    return "better" if (b < a) == (better == "lower") else "worse"


def _by_samples(path: MetricPath, label: str, a: dict[str, Any], b: dict[str, Any]) -> MetricChange | None:
    """By the interval of the ratio of medians and the noise between processes; None: there are too few samples."""
    noise = noise_of(path, b, a)
    if noise.median is None:
        return None
    base, value = (look_up(each, path)[0].number for each in (a, b))
    better = path.field.better
    change = Change(value=value, base=base, better=better or "lower", relative=0.0, absolute=None, noise=noise)
    moved = change.is_worse() or change.is_better()
    outcome: Outcome = "same" if value == base else _direction(base, value, better) if moved else "within_noise"
    return MetricChange(
        path=path.text,
        label=label,
        unit=path.field.unit,
        better=better,
        a=base,
        b=value,
        change_pct=change.change_pct,
        interval_pct=change.interval_pct,
        noise_pct=None,
        outcome=outcome,
        reason_a=None,
        reason_b=None,
    )


def _numbers(*values: Value | None) -> bool:
    return all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values)


def _why_null(path: MetricPath, report: dict[str, Any]) -> str:
    """The report's own code for a null."""
    reasons = part(report, "blocks", path.block, "reasons")
    inside = ".".join(map(str, path.steps[1:]))
    code = reasons.get(inside) if isinstance(reasons, dict) else None
    return str(code or "null")


def _is_short(report: dict[str, Any]) -> bool:
    time = part(report, "blocks", "roofline", "profiled_us")
    return isinstance(time, (int, float)) and time < SHORT_US


def _tensor_rates(a: dict[str, Any], b: dict[str, Any]) -> Iterator[MetricChange]:
    """Of each type that one of the two used; left out is 0 where the others were counted."""
    rates = [part(each, "blocks", "roofline", "tensor_tflops") for each in (a, b)]
    if not all(isinstance(one, dict) for one in rates):
        return
    for kind in dict.fromkeys((*rates[0], *rates[1])):
        path = f"roofline.tensor_tflops.{kind}"
        values = (rates[0].get(kind, 0.0), rates[1].get(kind, 0.0))
        noise = repeatability_pct("roofline", kind, "TFLOP/s", short=any(map(_is_short, (a, b))))
        yield compared((path, f"{kind} tensor rate", "TFLOP/s", None), values, noise_pct=noise)


def _stall_shares(a: dict[str, Any], b: dict[str, Any]) -> Iterator[MetricChange]:
    """Of each state that is among the five largest of one of the two."""
    tops = [part(each, "blocks", "stalls", "top") for each in (a, b)]
    if not all(isinstance(one, list) for one in tops):
        return
    shares = [
        {part(one, "reason"): part(one, "share_pct") for one in part(each, "blocks", "stalls", "all") or ()}
        for each in (a, b)
    ]
    for state in dict.fromkeys(part(one, "reason") for top in tops for one in top):
        values = (shares[0].get(state), shares[1].get(state))
        path, label = f"stalls.{state}.share_pct", f"warps wait: {state}"
        missing = tuple("not_collected" if value is None else None for value in values)
        yield compared(
            (path, label, "%", None), values, noise_pct=0.0, reasons=(missing[0], missing[1]), least=STALL_POINTS
        )
