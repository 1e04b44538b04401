"""The report inside its own page: compressed for the download, and as it stands where it is small."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
from markupsafe import Markup

from kprof.blocks.kernels import KernelLaunch
from kprof.renderers import json as json_renderer
from kprof.report import Report

_FEWER: Final = (1.0, 0.5, 0.1, 0.0)
"""Shares of the launches that are tried until the report fits."""
_MOST_PLAIN: Final = 300_000
"""Bytes of JSON up to which the page carries it in plain text too."""
_UNSAFE: Final = re.compile("[<>&\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
"""What could end a script element or begin a comment in it, breaks lines in JavaScript, or turns text round."""


@dataclass(frozen=True)
class Carried:
    """What the page carries of the report."""

    packed: str
    """Base64 of the gzip of the JSON."""
    plain: Markup | None
    """The JSON itself, safe inside a script element; None: too long."""
    size: int
    """Of the JSON, in bytes."""
    launches: int
    """Launches in it."""


def embedded(report: Report, launches: Sequence[KernelLaunch], room: int) -> Carried | None:
    """As much of the report as fits.

    Args:
        report: the whole.
        launches: those of it that the page shows.
        room: bytes left on the page.

    Returns:
        None where nothing fits: logs of a megabyte.
    """
    for share in _FEWER:
        kept = set(_longest(launches, round(len(launches) * share)))
        kernels = tuple(one for one in report.kernels if one.id in kept)
        shown = report if len(kernels) == len(report.kernels) else msgspec.structs.replace(report, kernels=kernels)
        text = json_renderer.render(shown)
        packed = base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
        if len(packed) <= room:
            plain = _plain(shown, room - len(packed))
            return Carried(packed=packed, plain=plain, size=len(text.encode()), launches=len(kernels))
    return None


def _longest(launches: Sequence[KernelLaunch], count: int) -> list[int]:
    return [one.id for one in sorted(launches, key=lambda one: -(one.duration_us or 0.0))[:count]]


def _plain(report: Report, room: int) -> Markup | None:
    """JSON that ends no script element and begins no comment: the characters that could are escapes of JSON."""
    text = msgspec.json.encode(report).decode()
    if len(text) > _MOST_PLAIN:
        return None
    safe = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return Markup(safe) if len(safe.encode()) <= room else None
