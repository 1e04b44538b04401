"""What a report says of the roofs that were measured on its device."""

from __future__ import annotations

from typing import Annotated, Final

from kprof.ceilings_evidence import CeilingsEvidence, MeasuredCeiling
from kprof.evidence import Reason, Record
from kprof.metrics import metric

_DOCTOR: Final = "kprof doctor --ceilings"


class CeilingInfo(Record, frozen=True, kw_only=True):
    """One measured roof: a bandwidth, a peak or a time, the other two null. Medians of their samples."""

    name: Annotated[
        str, metric("text", "The memory level and mix, the type of operands, or what takes the time", source=_DOCTOR)
    ]
    bandwidth_gbs: Annotated[float | None, metric("GB/s", "Bandwidth; null: none", source=_DOCTOR)]
    peak_tflops: Annotated[
        float | None, metric("TFLOP/s", "Rate, of integers in 1e12 operations a second; null: none", source=_DOCTOR)
    ]
    time_us: Annotated[float | None, metric("us", "Time; null: none", source=_DOCTOR)]
    spread_pct: Annotated[float, metric("%", "From the slowest to the fastest sample, of the median", source=_DOCTOR)]
    samples: Annotated[int, metric("count", "Samples taken", source=_DOCTOR)]
    footprint_bytes: Annotated[
        int | None, metric("bytes", "Memory gone through, for a bandwidth; null: none", source=_DOCTOR)
    ]
    sm_clock_mhz: Annotated[int | None, metric("MHz", "SM clock; null: on the CPU, or not told", source="NVML")]
    method: Annotated[str, metric("text", "What ran", source=_DOCTOR)]


class CeilingsInfo(Record, frozen=True, kw_only=True):
    """Roofs that programs reached on this device."""

    created: Annotated[str, metric("text", "When they were measured: UTC, ISO 8601", source=_DOCTOR)]
    quick: Annotated[bool, metric("bool", "Measured in a second, for this run on the CPU", source=_DOCTOR)]
    measured: Annotated[tuple[CeilingInfo, ...], metric("record", "Each of them", source=_DOCTOR)]
    absent: Annotated[dict[str, Reason], metric("record", "Why others are not there, by name", source=_DOCTOR)]
    warnings: Annotated[tuple[Reason, ...], metric("record", "Why they may be too low", source=_DOCTOR)]


def ceilings_info(evidence: CeilingsEvidence | None) -> CeilingsInfo | None:
    """The section of a report; None: nothing was measured."""
    if evidence is None:
        return None
    return CeilingsInfo(
        created=evidence.created,
        quick=evidence.quick,
        measured=tuple(_info(one) for one in evidence.measured),
        absent=evidence.absent,
        warnings=evidence.warnings,
    )


def _info(one: MeasuredCeiling) -> CeilingInfo:
    return CeilingInfo(
        name=one.name,
        bandwidth_gbs=one.median / 1e9 if one.unit == "byte/s" else None,
        peak_tflops=one.median / 1e12 if one.unit == "FLOP/s" else None,
        time_us=one.median if one.unit == "us" else None,
        spread_pct=abs(one.best - one.worst) / one.median * 100,
        samples=one.samples,
        footprint_bytes=one.footprint_bytes,
        sm_clock_mhz=one.sm_clock_mhz,
        method=one.method,
    )
