"""The command line of one run of ncu, up to the program that it starts: explicit in all that moves the numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kprof.collectors.ncu_run.request import MetricRequest
from kprof.collectors.ncu_run.tool import NcuTool

REPLAY_MODE: Final = "kernel"
_INTERVAL_OPTIONS: Final = ("--warp-sampling-interval", "--sampling-interval")
"""The option for the distance between samples of warp states, by its newer and its older name."""


@dataclass(frozen=True)
class RunSettings:
    """What one run does beside collecting metrics."""

    clock_control: str
    """``none`` leaves the clocks alone, so that ncu's rates are those of any other run; ``base`` locks them."""
    cache_control: str
    """``all`` empties the caches before each pass; ``none`` leaves them as they are."""
    launches: int
    """Launches profiled at most, both sides together."""
    kernels: str | None = None
    """Regular expression on the kernels' base names; None: all of them."""


def ncu_command(
    tool: NcuTool, request: MetricRequest, settings: RunSettings, report: Path, log: Path
) -> tuple[str, ...]:
    """The arguments, the program left out, which follows with nothing between.

    Args:
        tool: the ncu to start.
        request: what to collect.
        settings: under which conditions.
        report: where it writes the report, ending in ``.ncu-rep``.
        log: where it writes what it has to say.
    """
    arguments = [str(tool.path)]
    if tool.has_option("--config-file"):
        # A config.ncu-cfg of the user's would change what is measured.
        arguments += ["--config-file", "off"]
    arguments += ["--target-processes", "all", "--profile-from-start", "off", "--nvtx"]
    arguments += ["--clock-control", settings.clock_control, "--cache-control", settings.cache_control]
    arguments += ["--replay-mode", REPLAY_MODE, "--launch-count", str(settings.launches)]
    if settings.kernels is not None:
        arguments += ["--kernel-name-base", "function", "--kernel-name", f"regex:{settings.kernels}"]
    if request.section_set is not None:
        arguments += ["--set", request.section_set]
    arguments += ["--metrics", ",".join(request.metrics)]
    interval = next((name for name in _INTERVAL_OPTIONS if tool.has_option(name)), None)
    if interval is not None:
        # The shortest, 32 cycles: a kernel of a few us brings 2 samples at the usual one. ncu lengthens it by itself
        # where its buffer would overflow.
        arguments += [interval, "0"]
    return (*arguments, "--force-overwrite", "--export", str(report), "--log-file", str(log))


def kernels_named(names: Iterable[str]) -> str:
    """A regular expression for the kernels of these base names and no others.

    What ncu matches is the function's name; where it shows parameters behind it, they may follow.
    """
    return f"^({'|'.join(re.escape(name) for name in dict.fromkeys(names))})([(<].*)?$"
