"""From a report that exists already to a capture: counters and what the report says of its device, nothing else."""

from __future__ import annotations

import difflib
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

import msgspec

from kprof import __version__
from kprof.capture import Capture
from kprof.collectors.ncu.reading import read_report
from kprof.counter_evidence import COUNTER_BLOCKS, CountersEvidence, ProfiledLaunch
from kprof.counters.devices import busiest_device
from kprof.counters.quantities import whole
from kprof.counters.resolve import resolve
from kprof.errors import UsageError
from kprof.evidence import Environment
from kprof.kernelnames import base_name

_MOST_NAMES: Final = 5


def import_capture(file: Path, kernel: re.Pattern[str] | None, command: tuple[str, ...]) -> Capture:
    """The capture of a report.

    Args:
        file: a ``.ncu-rep``, or the CSV of ``ncu --page raw`` or ``--page details``.
        kernel: only launches in whose base name this is found; None: all.
        command: as it was called, for the environment.

    Raises:
        InputFileError: it cannot be read, is none of these, or holds no launch.
        UsageError: ``kernel`` is in no launch's name.
    """
    evidence = read_report(file)
    if kernel is not None:
        evidence = msgspec.structs.replace(evidence, launches=_matching(evidence, kernel))
    return Capture(
        kprof_version=__version__,
        created=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        requested=COUNTER_BLOCKS,
        workload=None,
        environment=_environment(evidence, command),
        counters=evidence,
    )


def _matching(evidence: CountersEvidence, kernel: re.Pattern[str]) -> tuple[ProfiledLaunch, ...]:
    """The launches asked for. Arguments and template parameters of a name are no part of what is searched."""
    found = tuple(launch for launch in evidence.launches if kernel.search(base_name(launch.name)))
    if not found:
        names = list(dict.fromkeys(base_name(launch.name) for launch in evidence.launches))
        nearest = difflib.get_close_matches(kernel.pattern, names, n=_MOST_NAMES, cutoff=0.4) or names[:_MOST_NAMES]
        message = f"--kernel {kernel.pattern}: in the name of none of the {len(evidence.launches)} launches"
        more = f", and {len(names) - len(nearest)} more" if len(names) > len(nearest) else ""
        raise UsageError(message, f"Names there: {', '.join(nearest)}{more}.")
    return found


def _of_main_device(launches: tuple[ProfiledLaunch, ...]) -> ProfiledLaunch:
    """The first launch on the device with most time."""
    if len({launch.device for launch in launches}) == 1:
        return launches[0]
    chosen = busiest_device((launch.device, resolve(launch).duration_ns) for launch in launches)
    return next(launch for launch in launches if launch.device == chosen)


def _environment(evidence: CountersEvidence, command: tuple[str, ...]) -> Environment:
    """What the report says of its device; of several of the one that analysis is about."""
    first = _of_main_device(evidence.launches)
    told = resolve(first)
    sms, memory, l2 = (whole(value) for value in (told.sm_count, told.memory_bytes, told.l2_size_bytes))
    return Environment(
        device=f"cuda:{first.device or 0}",
        device_name=told.device_name,
        compute_capability=first.compute_capability,
        sm_count=sms,
        memory_bytes=memory,
        l2_bytes=l2,
        ncu=evidence.ncu_version,
        command=command,
    )
