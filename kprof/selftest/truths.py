"""What is true of each probe whatever the board: the labels that are right, and what the advice must name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from kprof.errors import InputFileError
from kprof.evidence import Record
from kprof.yamlfile import read_yaml

TRUTH_FILE: Final = "truth.yaml"


class Truth(Record, frozen=True, kw_only=True):
    """What must be said of one probe."""

    labels: tuple[str, ...]
    """``family/limiter``, or a family alone: any one of them is right."""
    advice: str | None = None
    """Words that some step of the advice must have."""


class _Truths(Record, frozen=True, kw_only=True):
    probes: dict[str, Truth]


def load_truths(folder: Path) -> dict[str, Truth]:
    """By probe, in the order in which they are to run.

    Raises:
        InputFileError: the file is missing or malformed.
    """
    path = folder / TRUTH_FILE
    try:
        return msgspec.convert(read_yaml(path).data, _Truths).probes
    except msgspec.ValidationError as error:
        raise InputFileError(f"{path}: {error}", "Install kprof again.") from error
