"""Measured ceilings for people: each beside the spec's peak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kprof.ceilings_evidence import CeilingsEvidence, MeasuredCeiling
from kprof.renderers import quantities
from kprof.renderers.layout import Style

_NAMES: Final[Mapping[str, str]] = {
    "dram_read": "DRAM read", "dram_copy": "DRAM copy", "dram_triad": "DRAM triad", "l2": "L2 read", "l1": "L1 read",
    "shared": "shared read", "cache": "caches", "fp32": "FP32", "fp64": "FP64", "fp16_vector": "FP16 vector",
    "fp64_tensor": "FP64 tensor", "tf32": "TF32 tensor", "bf16": "BF16", "fp16": "FP16 tensor",
    "fp8": "FP8 tensor", "int8": "INT8 tensor", "empty_kernel": "empty kernel", "launch": "launch",
    "launch_and_wait": "launch and wait", "call": "call",
}  # fmt: skip


def render_ceilings(ceilings: CeilingsEvidence, peaks: Mapping[str, float], style: Style) -> str:
    """A table, what is missing below it.

    Args:
        ceilings: what was measured.
        peaks: the spec's figure by name, in the unit of the ceiling; empty: there is no spec.
        style: how to write.
    """
    threads = f", {ceilings.cpu_threads} threads" if ceilings.device == "cpu" and ceilings.cpu_threads else ""
    where = f"{ceilings.device_name or ceilings.device} ({ceilings.device}{threads})"
    driver = f", driver {ceilings.driver}" if ceilings.driver else ""
    lines = style.wrapped(f"measured on {where}, torch {ceilings.torch}{driver}, in {ceilings.seconds:.1f} s")
    rows = [_row(one, peaks.get(one.name)) for one in ceilings.measured]
    headers = ["", "median", "slowest", "fastest", "of spec", "SM clock"]
    kept = [i for i in range(len(headers)) if i == 0 or any(row[i] for row in rows)]
    table = style.table([headers[i] for i in kept], [[row[i] for i in kept] for row in rows])
    lines += ["", *table]
    for name, reason in ceilings.absent.items():
        hint = f" {reason.hint}" if reason.hint else ""
        text = f"no {_NAMES.get(name, name)} ({reason.code}): {reason.message}.{hint}"
        lines += style.wrapped(text, indent="  ", first="")
    for warning in ceilings.warnings:
        hint = f" {warning.hint}" if warning.hint else ""
        lines += style.wrapped(f"{warning.code}: {warning.message}.{hint}", indent="  ", first="! ")
    return "\n".join(lines) + "\n"


def _row(one: MeasuredCeiling, peak: float | None) -> list[str]:
    name = _NAMES.get(one.name, one.name)
    if one.name == "cache" and one.footprint_bytes:
        name += f", {quantities.size(one.footprint_bytes)}"
    return [
        name,
        _amount(one),
        *(f"{(value / one.median - 1) * 100:+.1f} %" for value in (one.worst, one.best)),
        "" if peak is None else quantities.percent(one.median / peak * 100),
        "" if one.sm_clock_mhz is None else f"{one.sm_clock_mhz} MHz",
    ]


def _amount(one: MeasuredCeiling) -> str:
    value = one.median
    if one.unit == "us":
        return quantities.duration(value)
    if one.unit == "byte/s":
        return f"{quantities.significant(value / 1e9, 4)} GB/s"
    return f"{quantities.significant(value / 1e12, 4)} {'TOP/s' if one.name == 'int8' else 'TFLOP/s'}"
