"""Blocks ``integrity`` for tests, of evidence that is all well but for what a test changes."""

from __future__ import annotations

from typing import Any

import captures
import msgspec

from kprof.blocks.integrity.block import IntegrityBlock
from kprof.blocks.integrity.check import Check
from kprof.capture import Capture
from kprof.integrity_evidence import IntegrityEvidence, TimedCall, Values
from kprof.precision_evidence import Mismatch
from kprof.report import build_report

WRONG = (Mismatch(code="value_mismatch", where="out", message="3 of 320 elements differ"),)


def call(values: Values = "repeated", us: float = 50.0, **changes: Any) -> TimedCall:
    plain = TimedCall(values=values, timer="host", cache="warm", us=us, judged=True)
    return msgspec.structs.replace(plain, **changes)


def calls(**us: tuple[float, ...]) -> tuple[TimedCall, ...]:
    every = {"repeated": (50.0,) * 4, "refilled": (50.0,) * 4, "moved": (50.0,) * 2, "swapped": (50.0,) * 4, **us}
    return tuple(call(values, one) for values, times in every.items() for one in times)  # type: ignore[arg-type]


def evidence(**changes: Any) -> IntegrityEvidence:
    plain = IntegrityEvidence(calls=calls(), timed_calls=200, probed=True)
    return msgspec.structs.replace(plain, **changes)


def capture(found: IntegrityEvidence | None = None, **changes: Any) -> Capture:
    return captures.cpu_run(integrity=found or evidence(), **changes)


def block(found: IntegrityEvidence | None = None, **changes: Any) -> IntegrityBlock:
    return build_report(capture(found, **changes)).blocks.integrity


def check(name: str, found: IntegrityEvidence | None = None, **changes: Any) -> Check:
    (one,) = (each for each in block(found, **changes).checks or () if each.name == name)
    return one
