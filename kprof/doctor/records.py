"""The answer of ``kprof doctor``: one check a thing that the main job needs."""

from __future__ import annotations

from typing import Final, Literal

from kprof import __version__
from kprof.evidence import Record

State = Literal["ok", "warn", "fail", "skipped"]
"""``warn``: works, with something to know; ``fail``: some part of a report will be missing; ``skipped``: does not
apply here."""
NO_GPU: Final = "there is no NVIDIA GPU here"
NO_DEVICE: Final = "there is no CUDA device to try it on"


class Check(Record, frozen=True, kw_only=True):
    """One thing that was looked at."""

    name: str
    """Stable, snake_case."""
    state: State
    found: str
    """One line: what is there."""
    why: str
    """One line: what of a report depends on it."""
    hint: str = ""
    """One line: how to mend it."""


class Diagnosis(Record, frozen=True, kw_only=True):
    """All checks of one machine, in the order in which to mend them."""

    kprof_version: str = __version__
    device: str
    """What the main job would measure on: ``cpu`` or ``cuda:N``."""
    ready: bool
    """The main job can run in full on that device: no check failed."""
    checks: tuple[Check, ...]
