"""Read a GPU spec file and check that its numbers can be true.

A board's file names its compute capability; what an SM holds comes from ``specs/architectures/CC.yaml``, or from an
``sm`` block of the file's own. Every error names file, line and key.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, get_args

import msgspec

from kprof.board import TENSOR_TYPES, BandwidthKind, Confidence, GpuSpec, SmFacts
from kprof.errors import InputFileError
from kprof.resources import resource_dir
from kprof.yamlfile import KeyPath, YamlDocument, read_yaml

SPEC_VERSION: Final = 1
IDENTITY_TOLERANCE: Final = 0.02
"""A stated peak may differ by this much from SMs x FLOP/clk/SM x clock: vendors round (L40S: 362.05 for 366.4)."""
LEAST_BANDWIDTH_RATIO: Final = 0.9
"""Specified over pin bandwidth, at least: HGX B200 is specified at 7700 GB/s, its pins give 8184."""
_COMPARE: Final = "Compare with a spec that travels with kprof: kprof specs lists them."
_EXPECTED: Final = {
    "float": "a number",
    "int": "a whole number",
    "str": "text",
    "object": "keys and values",
    "array": "a list",
}
_CHOICES: Final[dict[str | int, tuple[str, ...]]] = {
    "confidence": get_args(Confidence),
    "kind": get_args(BandwidthKind),
}
_RecordT = TypeVar("_RecordT", bound=msgspec.Struct)


class Problem(NamedTuple):
    """A value that cannot be right."""

    path: KeyPath
    message: str
    hint: str = _COMPARE


def load_spec(path: Path) -> GpuSpec:
    """Read one board's file.

    Raises:
        InputFileError: missing, malformed, of another version, or with numbers that contradict each other.
    """
    document = read_yaml(path)
    data = document.data
    if not isinstance(data, dict):
        raise document.error((), f"found {_shown(data)}, expected keys and values", _COMPARE)
    _check_version(document)
    capability = data.get("compute_capability")
    if isinstance(capability, float):  # 9.0 without quotes
        capability = f"{capability:.1f}"
    data = {**data, "compute_capability": capability} if "compute_capability" in data else dict(data)
    if "sm" not in data and isinstance(capability, str):
        data["sm"] = _architecture_of(document, capability)
    spec = _convert(document, data, GpuSpec)
    for problem in _problems(spec):
        raise document.error(*problem)
    return spec


def load_all_specs() -> tuple[GpuSpec, ...]:
    """Every board that travels with kprof, by name; read once a process."""
    return _load_folder(resource_dir("specs"))


@functools.lru_cache(maxsize=1)
def _load_folder(folder: Path) -> tuple[GpuSpec, ...]:
    return tuple(load_spec(path) for path in sorted(folder.glob("*.yaml")))


@functools.lru_cache(maxsize=32)
def load_architecture(path: Path) -> SmFacts:
    """Read what an SM of one compute capability holds.

    Raises:
        InputFileError: missing or malformed.
    """
    document = read_yaml(path)
    return _convert(document, document.data, SmFacts)


def _architecture_of(document: YamlDocument, capability: str) -> SmFacts:
    known = {path.stem: path for path in resource_dir("specs/architectures").glob("*.yaml")}
    if capability not in known:
        names = ", ".join(sorted(known, key=_capability_order))
        message = f"found {_shown(capability)}, expected one of {names}"
        raise document.error(("compute_capability",), message, "Or describe the SM in a block `sm` of the file's own.")
    return load_architecture(known[capability])


def _capability_order(capability: str) -> tuple[int, ...]:
    return tuple(int(part) for part in capability.split("."))


def _check_version(document: YamlDocument) -> None:
    path = ("spec_version",)
    found = document.value(path)
    if found is None:
        raise document.error((), "found no spec_version", f"Add the line: spec_version: {SPEC_VERSION}")
    if found != SPEC_VERSION or isinstance(found, bool):
        message = f"found {_shown(found)}, expected {SPEC_VERSION}"
        newer = isinstance(found, int) and found > SPEC_VERSION
        raise document.error(path, message, "Update kprof." if newer else _COMPARE)


def _convert(document: YamlDocument, data: Any, record: type[_RecordT]) -> _RecordT:
    try:
        return msgspec.convert(data, record)
    except msgspec.ValidationError as error:
        raise _explain(document, str(error)) from error


def _explain(document: YamlDocument, text: str) -> InputFileError:
    """Turn msgspec's message (type names and a ``$.path``) into file, line, key, found and expected."""
    message, _, where = text.partition(" - at `$")
    path = tuple(
        int(index) if index else key for key, index in re.findall(r"\.([^.\[\]`]+)|\[(\d+)\]", where.removesuffix("`"))
    )
    if match := re.fullmatch(r"Object missing required field `(.*)`", message):
        return document.error(path, f"found no {match[1]}, expected one", _COMPARE)
    if match := re.fullmatch(r"Object contains unknown field `(.*)`", message):
        return document.error((*path, match[1]), "found a key that means nothing here", _COMPARE)
    expected = re.sub(r", got `.*`$", "", message).removeprefix("Expected ")
    if expected.startswith("Invalid enum value"):
        expected = f"one of {', '.join(_CHOICES.get(path[-1], ()))}"
    expected = re.sub(r"`(\w+)( \| null)?`", lambda m: _EXPECTED.get(m[1], m[0]), expected)
    return document.error(path, f"found {_shown(document.value(path))}, expected {expected}", _COMPARE)


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict | list):
        return "keys and values" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _problems(spec: GpuSpec) -> Iterator[Problem]:
    """What contradicts itself in a spec whose types are right, worst first."""
    yield from _sparsity_problems(spec)
    yield from _rate_problems(spec)
    yield from _clock_problems(spec)
    yield from _bandwidth_problems(spec)
    if spec.l2.bytes is None and not spec.l2.note:
        yield Problem(("l2", "bytes"), "found nothing and no l2.note", "Say in l2.note where the size is to be had.")


def _sparsity_problems(spec: GpuSpec) -> Iterator[Problem]:
    for rate in TENSOR_TYPES:
        sparse = getattr(spec.sparse, rate, None)
        peak = spec.peak(rate)
        if sparse is None:
            continue
        if peak is None:
            yield Problem(("sparse", rate), f"found {sparse:g} and no dense peaks.{rate}, expected both or neither")
        elif not _near(sparse, 2 * peak.tflops):
            yield Problem(
                ("peaks", rate, "tflops"),
                f"found {peak.tflops:g} dense and {sparse:g} with sparsity, expected the second to be twice the first",
                "Give the dense figure here: vendors often print only the sparse one, which is twice as large.",
            )


def _rate_problems(spec: GpuSpec) -> Iterator[Problem]:
    limits = spec.sm.dense_flop_per_clk
    for rate, peak in spec.rates().items():
        identity = spec.sm_count * peak.flop_per_clk_per_sm * peak.clock_mhz / 1e6
        if not _near(peak.tflops, identity):
            twice = " (twice that: the figure with sparsity?)" if _near(peak.tflops, 2 * identity) else ""
            yield Problem(
                ("peaks", rate, "tflops"),
                f"found {peak.tflops:g}{twice}, expected {identity:.4g} within {IDENTITY_TOLERANCE:.0%}"
                f" = {spec.sm_count} SMs x {peak.flop_per_clk_per_sm} FLOP/clk/SM x {peak.clock_mhz:g} MHz",
                "Correct the peak (1e12 FLOP/s, dense), the FLOP per clock and SM, or the clock.",
            )
        limit = getattr(limits, rate, None)
        if limit is not None and peak.flop_per_clk_per_sm > limit:
            message = f"found {peak.flop_per_clk_per_sm}, expected at most {limit}, dense, at {spec.compute_capability}"
            yield Problem(("peaks", rate, "flop_per_clk_per_sm"), message)


def _clock_problems(spec: GpuSpec) -> Iterator[Problem]:
    for rate, peak in spec.rates().items():
        if peak.clock_mhz > spec.max_sm_clock_mhz:
            message = f"found {peak.clock_mhz:g}, expected at most max_sm_clock_mhz ({spec.max_sm_clock_mhz:g})"
            yield Problem(("peaks", rate, "clock_mhz"), message)


def _bandwidth_problems(spec: GpuSpec) -> Iterator[Problem]:
    memory = spec.memory
    pin = memory.pin_bandwidth_gbs
    if pin is not None and memory.pin_gbit_per_s is not None and memory.bus_bits is not None:
        identity = memory.pin_gbit_per_s * memory.bus_bits / 8
        if not _near(pin, identity):
            message = f"found {pin:g}, expected {identity:.5g} = pin_gbit_per_s x bus_bits / 8"
            yield Problem(("memory", "pin_bandwidth_gbs"), message)
    peak = memory.bandwidth_gbs if pin is None else pin
    if not LEAST_BANDWIDTH_RATIO * peak <= memory.bandwidth_gbs <= (1 + IDENTITY_TOLERANCE) * peak:
        message = f"found {memory.bandwidth_gbs:g}, expected {LEAST_BANDWIDTH_RATIO:.0%} to 102% of the pins' {peak:g}"
        yield Problem(("memory", "bandwidth_gbs"), message)
    for mix in ("read_gbs", "copy_gbs", "triad_gbs", "write_gbs"):
        reached = getattr(spec.achievable, mix, None)
        if reached is not None and reached > peak:
            yield Problem(("achievable", mix), f"found {reached:g}, expected less than the peak of {peak:g}")


def _near(found: float, expected: float) -> bool:
    return abs(found - expected) <= IDENTITY_TOLERANCE * expected
