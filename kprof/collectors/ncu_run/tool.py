"""Finds ncu and asks it about itself: its version, the chips it profiles, its options, the metrics that it knows.

What it answers about chips, options and metrics is kept in kprof's cache: it takes seconds, and changes with its
version only.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from kprof.counters.names import DURATION
from kprof.errors import CannotMeasureError, UsageError
from kprof.files import write_whole
from kprof.subprocesses.asking import ask

ANSWER_S: Final = 60.0
"""Longest wait for one answer; a list of metrics takes ncu 2025.3.1 0.8 s."""
_USUAL_PLACES: Final = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu", "/usr/local/cuda-*/bin/ncu")
_VERSION: Final = re.compile(r"^Version (\d+(?:\.\d+)+)", re.MULTILINE)
_CHIPS: Final = re.compile(r"^[a-z]{2}[0-9]{2}[0-9a-z](?:, *[a-z]{2}[0-9]{2}[0-9a-z])*$", re.MULTILINE)
_METRIC: Final = re.compile(r"^((?:\w+\.)*[a-z0-9]+__\w+)(?:\s|$)", re.MULTILINE)
_OPTION: Final = re.compile(r"--[a-z][a-z0-9-]+")

CHIPS_OF: Final[dict[str, tuple[str, ...]]] = {
    "7.0": ("gv100",),
    "7.5": ("tu102", "tu104", "tu106", "tu116", "tu117"),
    "8.0": ("ga100",),
    "8.6": ("ga102", "ga103", "ga104", "ga106", "ga107"),
    "8.7": ("ga10b",),
    "8.9": ("ad102", "ad103", "ad104", "ad106", "ad107"),
    "9.0": ("gh100",),
    "10.0": ("gb100", "gb102"),
    "12.0": ("gb202", "gb203", "gb205", "gb206", "gb207"),
}
"""ncu's names for the chips of a compute capability, any of which answers for it (``--list-chips`` of Nsight Compute
2025.3.1; CUDA C++ Programming Guide, "Compute Capabilities")."""
_FIRST_MAJOR: Final = 7
"""Nsight Compute has profiled nothing older since 2020.1 (release notes: "Removed support for the Pascal SM 6.x")."""


class _Kept(msgspec.Struct, frozen=True):
    """One answer of ncu's, in the cache."""

    banner: str
    answer: tuple[str, ...]


@dataclass(frozen=True)
class NcuTool:
    """An ncu that was found."""

    path: Path
    banner: str = ""
    """All that ``--version`` says; empty: it says nothing of use."""
    version: str | None = None
    chips: tuple[str, ...] = ()
    """What it profiles; empty: it does not say."""
    options: frozenset[str] = frozenset()
    """Its command line's options; empty: it does not say."""

    def has_option(self, name: str) -> bool:
        """It takes the option; true too where it does not say."""
        return not self.options or name in self.options


def find_ncu(asked: str | None = None) -> Path:
    """The ncu to run: the one asked for, else the first on PATH. Absolute.

    Raises:
        CannotMeasureError: ``ncu_not_found``.
    """
    found = shutil.which(asked or "ncu")
    if found is not None:
        # Not resolved: it is a script that looks for its tool beside the name it was called by.
        return Path(found).absolute()
    elsewhere = _elsewhere()
    hint = (
        f"Give --ncu {elsewhere}, or put its folder on PATH."
        if elsewhere is not None
        else "Install Nsight Compute (it comes with the CUDA toolkit), or give --ncu PATH."
    )
    message = f"--ncu {asked}: no such program" if asked else "there is no ncu on PATH"
    raise CannotMeasureError("ncu_not_found", message, hint)


def _elsewhere() -> Path | None:
    """An ncu in one of the places where installers put it, the newest by name."""
    for pattern in _USUAL_PLACES:
        found = sorted(path for path in Path("/").glob(pattern.lstrip("/")) if os.access(path, os.X_OK))
        if found:
            return found[-1]
    return None


def describe_ncu(path: Path, cache_root: Path) -> NcuTool:
    """Ask an ncu for its version, chips and options. What it does not answer is left open, never an error."""
    banner = (ask(path, "--version", limit_s=ANSWER_S) or "").strip()
    version = _VERSION.search(banner)
    tool = NcuTool(path=path, banner=banner if version else "", version=version[1] if version else None)
    if not tool.banner:
        # What does not even say its version is asked nothing more: each question may take its whole time again.
        return tool
    chips = _answer(tool, cache_root, ("--list-chips",), _parse_chips)
    options = _answer(tool, cache_root, ("--help",), _parse_options)
    return NcuTool(tool.path, tool.banner, tool.version, chips, frozenset(options))


def chip_of(tool: NcuTool, compute_capability: str | None) -> str | None:
    """ncu's name for the chip of a board; None where nobody knows it.

    Raises:
        CannotMeasureError: ``ncu_unsupported_chip``: this ncu says which chips it profiles, and that is none of them.
    """
    if compute_capability is None:
        return None
    names = CHIPS_OF.get(compute_capability, ())
    if not tool.chips:
        return names[0] if names else None
    for name in names:
        if name in tool.chips:
            return name
    if names or int(compute_capability.split(".")[0]) < _FIRST_MAJOR:
        raise CannotMeasureError(
            "ncu_unsupported_chip",
            f"ncu {tool.version or ''} does not profile compute capability {compute_capability}".replace("  ", " "),
            chips_hint(tool),
        )
    return None


def chips_hint(tool: NcuTool) -> str:
    """What to do where this ncu does not know the chip."""
    known = ", ".join(tool.chips) or "no list"
    return (
        f"Use an ncu whose --list-chips has this board's chip (--ncu PATH); {tool.version or 'this one'} has: {known}."
    )


def known_metrics(tool: NcuTool, chip: str | None, cache_root: Path) -> frozenset[str] | None:
    """Base names of the metrics that this ncu knows for a chip; None where it gives no list of use."""
    if chip is None or not tool.banner:
        return None
    names = _answer(tool, cache_root, ("--query-metrics", "--chip", chip), parse_metrics)
    return frozenset(names) or None


def parse_metrics(text: str) -> tuple[str, ...]:
    """First column of the table of ``--query-metrics``; empty for anything that does not even list the duration."""
    names = tuple(dict.fromkeys(_METRIC.findall(text)))
    return names if DURATION.partition(".")[0] in names else ()


def _parse_chips(text: str) -> tuple[str, ...]:
    line = _CHIPS.search(text)
    return tuple(name.strip() for name in line[0].split(",")) if line else ()


def _parse_options(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(_OPTION.findall(text)))
    return names if "--metrics" in names else ()


def _answer(
    tool: NcuTool, cache_root: Path, arguments: tuple[str, ...], parse: Callable[[str], tuple[str, ...]]
) -> tuple[str, ...]:
    """One answer of ncu's, from the cache where this very ncu has given it before; empty: none of use."""
    key = hashlib.sha256("\0".join((str(tool.path), tool.banner, *arguments)).encode("utf-8", "surrogateescape"))
    file = cache_root / "ncu" / f"{key.hexdigest()[:32]}.json"
    if tool.banner:
        with contextlib.suppress(OSError, msgspec.DecodeError):
            kept = msgspec.json.decode(file.read_bytes(), type=_Kept)
            if kept.banner == tool.banner and kept.answer:
                return kept.answer
    answer = parse(ask(tool.path, *arguments, limit_s=ANSWER_S) or "")
    if tool.banner and answer:
        # A cache that cannot be written costs time alone.
        with contextlib.suppress(OSError, UsageError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, msgspec.json.encode(_Kept(tool.banner, answer)))
    return answer
