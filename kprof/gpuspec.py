"""Which board is this? Find the spec of a device, or of a ``--gpu`` argument, exactly or not at all.

There is no default and no nearest neighbour: a board that is not known exactly has no roofs (an L40 is no L4, and an
H200 has other memory than an H100 of the same die).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from kprof.board import (
    RATE_TYPES,
    TENSOR_TYPES,
    AchievableBandwidth,
    GpuSpec,
    L2Spec,
    MemorySpec,
    PeakRate,
    RateType,
    SmFacts,
)
from kprof.errors import UsageError
from kprof.evidence import Reason, Record
from kprof.specfile import load_all_specs, load_architecture, load_spec

__all__ = [
    "RATE_TYPES",
    "TENSOR_TYPES",
    "AchievableBandwidth",
    "GpuSpec",
    "L2Spec",
    "MemorySpec",
    "PeakRate",
    "RateType",
    "SmFacts",
    "SpecRefusal",
    "load_all_specs",
    "load_architecture",
    "load_spec",
    "match_spec",
    "resolve_gpu",
]

LEAST_MEMORY_RATIO: Final = 0.88
"""Reported over nominal memory, at least: an L4 of 24 GiB reports 22.05 to programs (ECC and the driver's share)."""
MOST_MEMORY_RATIO: Final = 1.01


class SpecRefusal(Record, frozen=True, kw_only=True):
    """No spec for a device, and why."""

    code: Literal["spec_unknown", "spec_ambiguous"]
    message: str
    hint: str
    candidates: tuple[str, ...]
    """Names that ``--gpu`` would take: the boards that bear the device's name, or all, where none does."""

    @property
    def reason(self) -> Reason:
        """The same as the reason of an unavailable block."""
        return Reason(code=self.code, message=self.message, hint=self.hint)


def match_spec(
    device_name: str | None, memory_bytes: int | None, sm_count: int | None, specs: Sequence[GpuSpec]
) -> GpuSpec | SpecRefusal:
    """The spec of a device.

    The name must be one of the spec's, whole; what is known of memory and SM count must agree with it, and tells
    boards of one name apart.

    Args:
        device_name: as the driver or the profiler gives it; None or empty: not known.
        memory_bytes: total device memory; None: not known.
        sm_count: multiprocessors; None: not known.
        specs: what to choose from, mostly `load_all_specs()`.
    """
    shown = f"{device_name!r}" if device_name else "a device with no name"
    named = _named(device_name or "", specs)
    if not named:
        return _unknown_name(shown, device_name or "", specs)
    fitting = [s for s in named if sm_count in (None, s.sm_count) and _memory_fits(memory_bytes, s.memory.bytes)]
    if len(fitting) == 1:
        return fitting[0]
    names = tuple(s.name for s in fitting or named)
    found = _found(memory_bytes, sm_count)
    if fitting:
        return SpecRefusal(
            code="spec_ambiguous",
            message=f"{shown}{found} may be any of {', '.join(names)}",
            hint=f"Say which board it is: --gpu {' or --gpu '.join(names)}.",
            candidates=names,
        )
    described = "; ".join(f"{s.name} has {_gib(s.memory.bytes)} and {s.sm_count} SMs" for s in named)
    return SpecRefusal(
        code="spec_unknown",
        message=f"{shown}{found} is no board that kprof knows: {described}",
        hint=f"Give the board's figures with --gpu SPEC.yaml; --gpu {names[0]} only if that is what it is.",
        candidates=names,
    )


def resolve_gpu(argument: str) -> GpuSpec:
    """The spec that ``--gpu NAME|SPEC.yaml`` asks for.

    A path is what ends in ``.yaml`` or ``.yml`` or has a slash. A name is a spec's own or a driver's name of it.

    Raises:
        UsageError: no such name, or one that several boards share; names those that would do.
        InputFileError: a file that cannot be read or is malformed.
    """
    if argument.lower().endswith((".yaml", ".yml")) or "/" in argument or "\\" in argument:
        return load_spec(Path(argument))
    specs = load_all_specs()
    wanted = normalise_name(argument)
    own = [s for s in specs if wanted and normalise_name(s.name) == wanted]
    found = own or _named(argument, specs)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(s.name for s in found)
        message = f"found GPU name {argument!r}, which may be any of {names}"
        raise UsageError(message, "Name one of them, or give a YAML file.")
    nearest = _nearest(wanted, specs)
    hint = f"Nearest: {', '.join(nearest)}. " if nearest else ""
    is_file = " (a file of that name is here; a spec's name ends in .yaml)" if Path(argument).is_file() else ""
    raise UsageError(
        f"found GPU name {argument!r}, expected one that kprof knows, or a YAML file{is_file}",
        f"{hint}kprof specs lists all {len(specs)}.",
    )


@lru_cache(maxsize=1024)
def normalise_name(name: str) -> str:
    """A name without what carries no meaning: letter case, hyphens for spaces, the vendor in front."""
    return re.sub(r"[\s_-]+", " ", name.casefold()).strip().removeprefix("nvidia ")


def _named(name: str, specs: Sequence[GpuSpec]) -> list[GpuSpec]:
    wanted = normalise_name(name)
    return [s for s in specs if wanted and wanted in map(normalise_name, s.device_names)]


def _unknown_name(shown: str, name: str, specs: Sequence[GpuSpec]) -> SpecRefusal:
    is_slice = "mig" in normalise_name(name).split()
    note = ": a MIG slice has only a part of its board's SMs and bandwidth" if is_slice else ""
    return SpecRefusal(
        code="spec_unknown",
        message=f"{shown} is no board that kprof knows{note}",
        hint="Give the board's figures with --gpu SPEC.yaml, or name a board of equal peaks: kprof specs lists them.",
        candidates=tuple(s.name for s in specs),
    )


def _memory_fits(reported: int | None, nominal: int) -> bool:
    return reported is None or LEAST_MEMORY_RATIO <= reported / nominal <= MOST_MEMORY_RATIO


def _found(memory_bytes: int | None, sm_count: int | None) -> str:
    parts = [] if memory_bytes is None else [_gib(memory_bytes)]
    if sm_count is not None:
        parts.append(f"{sm_count} SMs")
    return f" with {' and '.join(parts)}" if parts else ""


def _gib(count: int) -> str:
    return f"{count / 2**30:.4g} GiB"


def _nearest(wanted: str, specs: Sequence[GpuSpec]) -> list[str]:
    """Names that begin alike, else those spelt most alike: at most five."""
    names = {normalise_name(s.name): s.name for s in specs}
    alike = [name for key, name in names.items() if wanted and key.startswith(wanted)]
    return (alike or [names[key] for key in difflib.get_close_matches(wanted, names, n=3, cutoff=0.4)])[:5]
