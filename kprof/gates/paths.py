"""Paths of values: ``timing.kernel_us``, ``kernels[NAME].sol.score``; and what a report has there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Final

from kprof.errors import UsageError
from kprof.evidence import Record, Side
from kprof.gates.fields import Field, NoSuchField, Step, block_field, launch_field
from kprof.gates.possible import impossible
from kprof.verdicts import Scalar
from kprof.yamlfile import dotted

_LAUNCH: Final = re.compile(
    r"kernels\[(?:(?P<side>ref|kernel):)?(?P<name>.+?)(?:#(?P<nth>[1-9][0-9]{0,5}))?\]\.(?P<rest>.+)"
)
_STEP: Final = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<indices>(?:\[(?:0|[1-9][0-9]{0,8})\])*)")
_SUSPECT: Final = "suspect"
_DOUBTS_ALONE: Final = {"implausible_hit_rate": ("l1_hit_pct", "l2_hit_pct")}
"""Reasons of suspect blocks that are about these fields and no other: L2 serves more than the kernel, and a rate of
little traffic may come out over 100 % while sectors a request are exact."""


class LaunchChoice(Record, frozen=True, kw_only=True):
    """Which entries of ``kernels`` a path means."""

    side: Side
    name: str
    nth: int | None
    """Counted from 1 in launch order; None: all of that name, of which the worst counts."""


class MetricPath(Record, frozen=True, kw_only=True):
    """One value of a report, as a gate names it."""

    text: str
    launch: LaunchChoice | None
    """None: a block's value."""
    steps: tuple[Step, ...]
    field: Field

    @property
    def block(self) -> str:
        """The block, or the block's part of a launch, that the value is in; ``""``: the launch's own."""
        first = str(self.steps[0])
        return first if self.launch is None or len(self.steps) > 1 else ""


class Found(Record, frozen=True, kw_only=True):
    """What a report has at a path."""

    value: Scalar | None
    code: str = ""
    """Why the value cannot be used: ``null_value``, ``suspect_value``, ``not_a_number``, ...; empty: it can."""
    problem: str = ""
    """The same in words."""
    hint: str = ""
    """What to do about it, where the report says it."""

    @property
    def number(self) -> float:
        """The value, of which it is known that it is a number."""
        assert isinstance(self.value, (int, float))
        return self.value


def parse_path(text: str) -> MetricPath:
    """A path, checked against what a report can hold.

    Raises:
        UsageError: no report has it; names what is nearest.
    """
    matched = _LAUNCH.fullmatch(text)
    launch, rest = None, text
    if matched:
        side: Side = "ref" if matched["side"] == "ref" else "kernel"
        nth = int(matched["nth"]) if matched["nth"] else None
        launch, rest = LaunchChoice(side=side, name=matched["name"], nth=nth), matched["rest"]
    elif text.startswith("kernels["):
        raise UsageError(f"{text}: found no field after the kernel", "Write kernels[NAME].duration_us, for example.")
    head = text[: len(text) - len(rest)]
    steps = _steps(text, rest)
    try:
        field = launch_field(steps) if launch else block_field(steps)
    except NoSuchField as error:
        near = ", ".join(f"{head}{path}" for path in error.nearest)
        hint = f"Did you mean {near}?" if near else "kprof schema says what a report holds."
        raise UsageError(f"{text}: {error.problem}", hint) from error
    return MetricPath(text=text, launch=launch, steps=steps, field=field)


def _steps(text: str, rest: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    for part in rest.split("."):
        matched = _STEP.fullmatch(part)
        if matched is None:
            hint = "A path is block.field, such as timing.kernel_us, or kernels[NAME].field."
            raise UsageError(f"{text}: {part!r} is no name of a field", hint)
        steps += [matched["name"], *(int(index) for index in re.findall(r"[0-9]+", matched["indices"]))]
    return tuple(steps)


def look_up(report: dict[str, Any], path: MetricPath) -> list[Found]:
    """What ``report`` has at ``path``: one value, or one a launch where the path means several. Never empty."""
    if path.launch is None:
        return [_checked(_in_blocks(report, path.steps), path)]
    entries = list(_launches(report, path.launch))
    if not entries:
        return [_no_launch(report, path.launch)]
    return [_checked(_in_launch(entry, path.steps), path) for entry in entries]


def part(value: Any, *names: Step) -> Any:
    """What stands at ``names`` in nested plain values; None where anything on the way is missing or of another type."""
    for name in names:
        if isinstance(value, dict) and isinstance(name, str):
            value = value.get(name)
        elif isinstance(value, list) and isinstance(name, int) and name < len(value):
            value = value[name]
        else:
            return None
    return value


def _in_blocks(report: dict[str, Any], steps: tuple[Step, ...]) -> Found:
    block = part(report, "blocks", steps[0])
    if not isinstance(block, dict):
        return Found(value=None, code="null_value", problem=f"the report has no block {steps[0]}")
    return _in_block(block, steps[1:], str(steps[0]))


def _in_launch(entry: dict[str, Any], steps: tuple[Step, ...]) -> Found:
    first = str(steps[0])
    below = entry.get(first)
    if isinstance(below, dict):
        return _in_block(below, steps[1:], first)
    if below is None and len(steps) > 1:
        why = part(entry, "reasons", first)
        return Found(value=None, code="null_value", problem=f"{first} was not measured{_because(why)}")
    return _in_block(entry, steps, "the launch")


def _in_block(block: dict[str, Any], steps: tuple[Step, ...], name: str) -> Found:
    value = part(block, *steps)
    status = block.get("status")
    if value is None:
        why = part(block, "reasons", dotted(steps)) or part(block, "reason", "code")
        return Found(value=None, code="null_value", problem=f"{dotted(steps)} was not measured{_because(why)}")
    if status == _SUSPECT and steps != ("status",) and not _is_of_others(block, steps):
        return _suspect(value, name, part(block, "reason"))
    return Found(value=value)


def _is_of_others(block: dict[str, Any], steps: tuple[Step, ...]) -> bool:
    """The block is suspect for numbers of its own that this one is not made with."""
    of = _DOUBTS_ALONE.get(str(part(block, "reason", "code")))
    return of is not None and steps[0] not in of


def _suspect(value: Any, name: str, reason: object) -> Found:
    """A value that was measured, and why its block says not to trust it."""
    why = part(reason, "message") or part(reason, "code")
    told = part(reason, "hint")
    hint = told if isinstance(told, str) and told else "Mend what the reason names, and measure again."
    problem = f"it was measured, but {name} is suspect{_because(why)}"
    return Found(value=value, code="suspect_value", problem=problem, hint=hint)


def _because(why: object) -> str:
    return f" ({why})" if isinstance(why, str) else ""


def _checked(found: Found, path: MetricPath) -> Found:
    """The value is of the field's type, and a number is finite and possible."""
    value, field = found.value, path.field
    if value is None:
        return found
    fits = {
        "boolean": isinstance(value, bool),
        "string": isinstance(value, str) and not field.is_number,
        "number": finite(value) is not None,
        "integer": finite(value) is not None,
    }
    if any(fits[kind] for kind in field.kinds):
        return found if found.code else _possible(found, path)
    expected = "a finite number" if field.is_number else " or ".join(sorted(field.kinds))
    shown = value if isinstance(value, (str, int, float)) else type(value).__name__
    return Found(
        value=None,
        code="not_a_number" if field.is_number else "wrong_type",
        problem=f"found {shown!r}, expected {expected}",
    )


def _possible(found: Found, path: MetricPath) -> Found:
    number = finite(found.value) if path.field.is_number else None
    name = next((step for step in reversed(path.steps) if isinstance(step, str)), "")
    broken = impossible(name, number) if number is not None else None
    return found if broken is None else Found(value=found.value, code=broken[0], problem=broken[1])


def finite(value: object) -> float | None:
    """The number that it is; None: none, or not one that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer of hundreds of digits
        return None


def _launches(report: dict[str, Any], choice: LaunchChoice) -> Iterator[dict[str, Any]]:
    """Entries of that name; those of an imported report, which does not say whose they are, count as the kernel's."""
    nth = 0
    for entry in _entries(report):
        side = entry.get("side")
        if entry.get("name") == choice.name and (side == choice.side or (side is None and choice.side == "kernel")):
            nth += 1
            if choice.nth in (None, nth):
                yield entry


def _entries(report: dict[str, Any]) -> list[dict[str, Any]]:
    listed = report.get("kernels")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _no_launch(report: dict[str, Any], choice: LaunchChoice) -> Found:
    entries = _entries(report)
    if not entries:
        return Found(value=None, code="null_value", problem="the report lists no kernel launches")
    names = dict.fromkeys(str(one.get("name")) for one in entries if one.get("side") in (None, choice.side))
    listed = ", ".join(list(names)[:6]) or "none"
    which = f"{choice.name}#{choice.nth}" if choice.nth else choice.name
    problem = f"no launch {which} on the side {choice.side}; there: {listed}"
    return Found(value=None, code="no_such_launch", problem=problem)
