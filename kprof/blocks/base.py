"""What all blocks share: status, reasons, and the one place that keeps absent and non-finite numbers honest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec

from kprof.capture import Capture
from kprof.evidence import SIDE_NAMES, STAGES, Fault, Reason, Record, Side, Stage
from kprof.metrics import metric

Status = Literal["ok", "unavailable", "failed", "skipped", "suspect"]
NOT_FINITE: Final = "not_finite"
NOT_ATTEMPTED: Final = "not_attempted"
"""Code of a fault in a stage that was left out because an earlier one hung or was lost again and again."""
IMPORTED: Final = Reason(
    code="imported_report",
    message="a report of Nsight Compute holds counters, and nothing of this block",
    hint="kprof analyze kernel.py --ref ref.py measures it.",
)
_TOLD_ELSEWHERE: Final = frozenset({"reason", "reasons"})
_NO_PARTS: Final = frozenset({str, int, bool})
_Place = tuple[Any, str | int]
"""Where something is in a record: the place of what holds it (None: the record itself), and its name or position."""
_RULES: Final = "kprof's own rules"


class Block(Record, frozen=True, kw_only=True):
    """One block of a report.

    ``reasons`` holds a stable code for every null in the block, however deep, by its dotted path. Where the whole
    block was not measured each of them carries the block's own reason code.
    """

    status: Annotated[
        Status,
        metric(
            "text",
            "ok: measured; suspect: measured, and not to be trusted without reading `reason`; failed: the stage did "
            "not deliver; skipped: not run; unavailable: cannot be measured here",
            source=_RULES,
        ),
    ]
    reason: Annotated[
        Reason | None, metric("record", "Why the status is not ok, or what went wrong on the way", source=_RULES)
    ] = None
    source: Annotated[str, metric("text", "What measures this block", source=_RULES)]
    reasons: Annotated[
        dict[str, str], metric("text", "Code of the reason for every null field, by dotted path", source=_RULES)
    ] = msgspec.field(default_factory=dict)
    warnings: Annotated[
        tuple[Reason, ...], metric("record", "What to know before using the numbers", source=_RULES)
    ] = ()


class Absence(Record, frozen=True, kw_only=True):
    """A block that was not measured, and why."""

    status: Status
    reason: Reason


R = TypeVar("R", bound=msgspec.Struct)
B = TypeVar("B", bound=Block)


def finish(block: B, explain: Callable[[str], str]) -> B:
    """Make numbers that are not finite null, and give every null its reason.

    Args:
        block: the block as measured.
        explain: the code for a null, from its dotted path; asked only for nulls that were not made here.
    """
    nulls: list[_Place] = []
    if _walk(block, None, nulls):
        return msgspec.structs.replace(block, reasons={path: explain(path) for path in map(_path, nulls)})
    clean, not_finite = make_finite(block)
    reasons = {path: NOT_FINITE if path in not_finite else explain(path) for path in null_paths(clean)}
    return msgspec.structs.replace(clean, reasons=reasons)


def null_paths(value: Any) -> list[str]:
    """Dotted paths of every null, those of ``reason`` and ``reasons`` left out: they say why, they measure nothing."""
    nulls: list[_Place] = []
    _walk(value, None, nulls)
    return [_path(place) for place in nulls]


def _walk(value: Any, place: _Place | None, nulls: list[_Place]) -> bool:
    """Add the places of the nulls, and tell whether every number is finite: one walk, for thousands of launches."""
    finite = True
    for item, name in _named_parts(value):
        kind = type(item)
        if kind is float:
            finite = finite and math.isfinite(item)
        elif item is None:
            if name not in _TOLD_ELSEWHERE:
                nulls.append((place, name))
        elif kind not in _NO_PARTS and name not in _TOLD_ELSEWHERE and item != ():
            finite = _walk(item, (place, name), nulls) and finite
    return finite


def _named_parts(value: Any) -> Iterable[tuple[Any, str | int]]:
    """The parts of a container with their names or positions; of anything else none."""
    if isinstance(value, msgspec.Struct):
        return zip(msgspec.structs.astuple(value), value.__struct_fields__, strict=True)
    if isinstance(value, tuple):
        return zip(value, range(len(value)), strict=True)
    return ((item, key) for key, item in value.items()) if isinstance(value, dict) else ()


def _path(place: _Place) -> str:
    """The dotted path of a place. Few places are ever asked for theirs, so a walk writes none down."""
    within, name = place
    if type(name) is int:
        return f"{_path(within) if within else ''}[{name}]"
    return _join(_path(within) if within else "", str(name))


def absent_block(kind: type[B], absence: Absence, source: str) -> B:
    """A block with no numbers, every null explained by the block's own reason."""
    return finish(kind(status=absence.status, reason=absence.reason, source=source), lambda _: absence.reason.code)


def make_finite(record: R) -> tuple[R, frozenset[str]]:
    """The record with None for each number that is NaN or infinite, and the paths of those.

    A list of numbers with one such among them becomes None as a whole: leaving it out would shift its neighbours.
    """
    found: set[str] = set()
    return _finite(record, "", found), frozenset(found)


def _finite(value: Any, path: str, found: set[str]) -> Any:
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        found.add(path)
        return None
    if isinstance(value, tuple):
        if any(isinstance(item, float) and not math.isfinite(item) for item in value):
            found.add(path)
            return None
        return tuple(_finite(item, f"{path}[{index}]", found) for index, item in enumerate(value))
    if isinstance(value, dict):
        return {key: _finite(item, _join(path, key), found) for key, item in value.items()}
    if isinstance(value, msgspec.Struct):
        fields = {name: _finite(getattr(value, name), _join(path, name), found) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    return value


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def on_cuda(capture: Capture) -> bool:
    """The run was on a GPU."""
    return capture.environment.device.startswith("cuda")


def fault_reason(fault: Fault) -> Reason:
    """The fault as a block's reason, the side named."""
    if fault.side is None:
        return fault.reason
    return Reason(code=fault.code, message=f"{SIDE_NAMES[fault.side]}: {fault.message}", hint=fault.hint)


def not_requested(capture: Capture, name: str) -> Absence | None:
    """Why a block was not even tried, where nobody asked for it."""
    if name in capture.requested:
        return None
    if capture.is_imported:
        return Absence(status="skipped", reason=IMPORTED)
    asked = ", ".join(capture.requested) or "none"
    reason = Reason(
        code="not_requested", message=f"not among the blocks asked for ({asked})", hint="Add it to --blocks."
    )
    return Absence(status="skipped", reason=reason)


def stage_absence(capture: Capture, stage: Stage) -> Absence:
    """Why a stage that was asked for left no evidence: its own fault, an earlier one, or nobody knows."""
    own = capture.fault(stage)
    if own is not None:
        status: Status = "skipped" if own.code == NOT_ATTEMPTED else "failed"
        return Absence(status=status, reason=fault_reason(own))
    for earlier in ("load", "build"):
        fault = capture.fault(earlier) if STAGES.index(earlier) < STAGES.index(stage) else None
        if fault is not None:
            whose = f" of the {SIDE_NAMES[fault.side]}" if fault.side else ""
            reason = Reason(code=fault.code, message=f"not run: the {earlier}{whose} failed", hint=fault.hint)
            return Absence(status="skipped", reason=reason)
    reason = Reason(code="not_collected", message="the run holds no evidence for this block", hint="Measure again.")
    return Absence(status="unavailable", reason=reason)


def missing_code(capture: Capture, stage: Stage, side: Side) -> str:
    """The code for what one side lacks in a stage that left some evidence."""
    if side == "ref" and not capture.has_reference:
        return "no_reference"
    own = capture.fault(stage, side)
    fault = own or capture.fault("load", side) or capture.fault("build", side) or capture.fault(stage)
    return fault.code if fault else "not_collected"
