"""Measured roofs of a report: those of a file in place of those that the run found, and none where none fit."""

from __future__ import annotations

from pathlib import Path

import msgspec

from kprof.capture import Capture
from kprof.ceilings_evidence import MEASURE_HINT, CeilingsEvidence, describes_board_of, load_ceilings
from kprof.errors import UsageError
from kprof.roofline import RoofChoice


def read_ceilings(file: Path | None) -> CeilingsEvidence | None:
    """The measured roofs in a file; see `load_ceilings` for what is refused."""
    return None if file is None else load_ceilings(file)


def with_ceilings(capture: Capture, given: CeilingsEvidence | None) -> Capture:
    """The capture with the measured roofs that the user gave, where some were given.

    Raises:
        UsageError: they are of another device than the capture.
    """
    if given is None:
        return capture
    if not describes_board_of(given, capture.environment):
        found = given.device_name or given.device
        here = capture.environment.device_name or capture.environment.device
        raise UsageError(f"--ceilings is of {found}, and the run of {here}", "Measure them on that device.")
    return msgspec.structs.replace(capture, ceilings=given)


def require_ceilings(capture: Capture, roof: RoofChoice) -> None:
    """A report that is only made again has its measured roofs, where they are asked for.

    Raises:
        UsageError: it has none.
    """
    if roof == "measured" and capture.ceilings is None:
        message = "--roof measured: there are no measured roofs of this device"
        raise UsageError(
            message, f"{MEASURE_HINT[:-1]} --json > ceilings.json on it, and give --ceilings ceilings.json."
        )
