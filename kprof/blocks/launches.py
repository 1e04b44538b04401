"""The block ``launches``: how much device work one call launches, and how much of it was fused away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

from kprof.blocks.base import (
    Absence,
    Block,
    absent_block,
    fault_reason,
    finish,
    missing_code,
    not_requested,
    on_cuda,
    stage_absence,
)
from kprof.blocks.timing.device_time import off_current_stream
from kprof.capture import Capture
from kprof.evidence import Reason, Record, Side
from kprof.kernelnames import base_name
from kprof.launches_evidence import Launch, LaunchesEvidence, SideLaunches
from kprof.metrics import metric
from kprof.statistics import union_length

SOURCE: Final = "torch.profiler, device events of one call"
_HOST: Final = "torch.profiler, host events of one call"
_SIDES: Final[tuple[Side, ...]] = ("kernel", "ref")


class KernelRow(Record, frozen=True, kw_only=True):
    """All launches of one kernel (one full name) by one side, in one call."""

    name: Annotated[str, metric("text", "Base name", source=SOURCE)]
    side: Annotated[Side, metric("text", "Whose call launched it", source=SOURCE)]
    count: Annotated[int, metric("count", "Launches", better="lower", source=SOURCE)]
    total_us: Annotated[float | None, metric("us", "Sum of their durations", better="lower", source=SOURCE)]
    grid: Annotated[tuple[int, int, int] | None, metric("count", "Grid of the longest of them", source=SOURCE)]
    block: Annotated[tuple[int, int, int] | None, metric("count", "Block of the longest of them", source=SOURCE)]


class LaunchesBlock(Block, frozen=True, kw_only=True):
    """Device work of one call of each side. Kernels, copies and fills are counted apart."""

    kernel_launches: Annotated[int | None, metric("count", "Kernel: kernels run", better="lower", source=SOURCE)] = None
    ref_launches: Annotated[int | None, metric("count", "Reference: kernels run", source=SOURCE)] = None
    fusion_ratio: Annotated[
        float | None,
        metric("ratio", "ref_launches / kernel_launches, kernels only", better="higher", source="the two counts"),
    ] = None
    kernel_memcpy: Annotated[int | None, metric("count", "Kernel: device copies", better="lower", source=SOURCE)] = None
    kernel_memset: Annotated[int | None, metric("count", "Kernel: device fills", better="lower", source=SOURCE)] = None
    ref_memcpy: Annotated[int | None, metric("count", "Reference: device copies", source=SOURCE)] = None
    ref_memset: Annotated[int | None, metric("count", "Reference: device fills", source=SOURCE)] = None
    kernel_host_launches: Annotated[
        int | None, metric("count", "Kernel: launch calls on the host; a graph is one", better="lower", source=_HOST)
    ] = None
    ref_host_launches: Annotated[
        int | None, metric("count", "Reference: launch calls on the host; a graph is one", source=_HOST)
    ] = None
    kernel_operator_calls: Annotated[
        int | None, metric("count", "Kernel: outermost torch operators called", better="lower", source=_HOST)
    ] = None
    ref_operator_calls: Annotated[
        int | None, metric("count", "Reference: outermost torch operators called", source=_HOST)
    ] = None
    kernel_device_time_us: Annotated[
        float | None,
        metric("us", "Kernel: sum of kernel durations, no copies or fills", better="lower", source=SOURCE),
    ] = None
    ref_device_time_us: Annotated[
        float | None, metric("us", "Reference: sum of kernel durations, no copies or fills", source=SOURCE)
    ] = None
    kernel_busy_us: Annotated[
        float | None,
        metric("us", "Kernel: time with any device work, overlaps once", better="lower", source=SOURCE),
    ] = None
    ref_busy_us: Annotated[
        float | None, metric("us", "Reference: time with any device work, overlaps once", source=SOURCE)
    ] = None
    off_current_stream: Annotated[
        bool | None, metric("bool", "The kernel ignores torch's current stream", source="CUDA graph capture")
    ] = None
    table: Annotated[
        tuple[KernelRow, ...], metric("record", "Kernels by side and name, most time first", source=SOURCE)
    ] = ()


def launches_block(capture: Capture) -> LaunchesBlock:
    """The block ``launches`` of a capture."""
    skipped = not_requested(capture, "launches")
    if skipped is not None:
        return absent_block(LaunchesBlock, skipped, SOURCE)
    evidence = capture.launches
    if evidence is None or (evidence.kernel is None and evidence.ref is None):
        return absent_block(LaunchesBlock, stage_absence(capture, "launches"), SOURCE)
    kernel, ref = _seen(capture, evidence.kernel), _seen(capture, evidence.ref)
    kernel_launches, ref_launches = _count(kernel, "kernel"), _count(ref, "kernel")
    told = _judge(capture, evidence)
    block = LaunchesBlock(
        status=told.status if told else "ok",
        reason=told.reason if told else None,
        source=SOURCE,
        warnings=_warnings(evidence),
        kernel_launches=kernel_launches,
        ref_launches=ref_launches,
        fusion_ratio=ref_launches / kernel_launches if ref_launches and kernel_launches else None,
        kernel_memcpy=_count(kernel, "memcpy"),
        kernel_memset=_count(kernel, "memset"),
        ref_memcpy=_count(ref, "memcpy"),
        ref_memset=_count(ref, "memset"),
        kernel_host_launches=evidence.kernel.host_launches if evidence.kernel and on_cuda(capture) else None,
        ref_host_launches=evidence.ref.host_launches if evidence.ref and on_cuda(capture) else None,
        kernel_operator_calls=evidence.kernel.operator_calls if evidence.kernel else None,
        ref_operator_calls=evidence.ref.operator_calls if evidence.ref else None,
        kernel_device_time_us=_kernel_time(kernel),
        ref_device_time_us=_kernel_time(ref),
        kernel_busy_us=_busy(kernel),
        ref_busy_us=_busy(ref),
        off_current_stream=off_current_stream(capture),
        table=(*_rows("kernel", kernel or ()), *_rows("ref", ref or ())),
    )
    return finish(block, lambda path: _why_null(capture, evidence, path))


def _seen(capture: Capture, side: SideLaunches | None) -> tuple[Launch, ...] | None:
    """Device work of one side; None: nobody saw, which is not the same as none."""
    return side.launches if side is not None and side.absent is None and on_cuda(capture) else None


def _judge(capture: Capture, evidence: LaunchesEvidence) -> Absence | None:
    fault = capture.fault("launches")
    if fault is not None:
        return Absence(status="failed" if evidence.kernel is None else "suspect", reason=fault_reason(fault))
    absent = evidence.kernel.absent if evidence.kernel else None
    # Without a GPU the operator calls are all there is to measure, and they were.
    return Absence(status="unavailable", reason=absent) if absent is not None and on_cuda(capture) else None


def _warnings(evidence: LaunchesEvidence) -> tuple[Reason, ...]:
    of_sides = [warning for side in (evidence.kernel, evidence.ref) if side for warning in side.warnings]
    return tuple(dict.fromkeys([*evidence.warnings, *of_sides]))


def _count(launches: Sequence[Launch] | None, kind: str) -> int | None:
    return None if launches is None else sum(launch.kind == kind for launch in launches)


def _kernel_time(launches: Sequence[Launch] | None) -> float | None:
    """Sum of the durations of kernels, us."""
    return None if launches is None else sum((one.duration_us for one in launches if one.kind == "kernel"), 0.0)


def _busy(launches: Sequence[Launch] | None) -> float | None:
    """Length of the union of the intervals of all device work, us: what runs side by side counts once."""
    if launches is None:
        return None
    return union_length((one.start_us, one.start_us + one.duration_us) for one in launches)


def _rows(side: Side, launches: Iterable[Launch]) -> tuple[KernelRow, ...]:
    by_name: dict[str, list[Launch]] = {}
    for launch in launches:
        if launch.kind == "kernel":
            by_name.setdefault(launch.name, []).append(launch)
    rows = []
    for name, group in by_name.items():
        longest = max(group, key=lambda launch: launch.duration_us)
        total = sum(launch.duration_us for launch in group)
        rows.append(
            KernelRow(
                name=base_name(name),
                side=side,
                count=len(group),
                total_us=total,
                grid=longest.grid,
                block=longest.block,
            )
        )
    return tuple(sorted(rows, key=lambda row: -(row.total_us or 0.0)))


def _why_null(capture: Capture, evidence: LaunchesEvidence, path: str) -> str:
    if path.startswith("table["):
        return "not_collected"
    if path == "off_current_stream":
        return "not_collected" if on_cuda(capture) else "no_device"
    if path == "fusion_ratio":
        return _why_no_fusion(capture, evidence)
    return _why_no_side(capture, evidence, "ref" if path.startswith("ref_") else "kernel", path)


def _why_no_side(capture: Capture, evidence: LaunchesEvidence, side: Side, path: str) -> str:
    of_side = evidence.ref if side == "ref" else evidence.kernel
    if of_side is None:
        return missing_code(capture, "launches", side)
    absent = of_side.absent.code if of_side.absent is not None else None
    if path.endswith("operator_calls"):
        # A CPU has operators all the same: that it has no device does not explain their absence.
        return absent if absent not in (None, "no_device") else "not_collected"
    return absent or ("not_collected" if on_cuda(capture) else "no_device")


def _why_no_fusion(capture: Capture, evidence: LaunchesEvidence) -> str:
    for side, of_side in zip(_SIDES, (evidence.kernel, evidence.ref), strict=True):
        if _seen(capture, of_side) is None:
            return _why_no_side(capture, evidence, side, "fusion_ratio")
    return "no_kernels"
