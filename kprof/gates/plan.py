"""The gates that a thresholds file asks for.

thresholds:                        # path op number, true, false or word
  - timing.speedup >= 1.2
  - timing.kernel_us <= 12 us
regressions:                       # path: tolerance, against a baseline
  timing.kernel_us: 3% and 0.5 us
  sol.arithmetic_intensity: {tolerance: 5%, better: higher}
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, Literal, get_args

from kprof.errors import UsageError
from kprof.evidence import Record
from kprof.gates.fields import Better, Field
from kprof.gates.paths import MetricPath, parse_path
from kprof.gates.units import in_unit_of, number_and_unit
from kprof.verdicts import Scalar
from kprof.yamlfile import YamlDocument

Operator = Literal["<", "<=", ">", ">=", "==", "!="]
DEFAULT_REGRESSIONS: Final = {"timing.kernel_us": "1%"}
"""What is held against a baseline where the thresholds file does not say."""
_PARTS: Final = ("thresholds", "regressions")
_EXPRESSION: Final = re.compile(
    r"\s*(?P<path>kernels\[.+\]\.[^<>=!]+?|.+?)\s*(?P<operator>[<>=!]+)\s*(?P<literal>[^<>=!].*?)\s*"
)
"""The name of a kernel may hold operators: ``kernels[operator<=].duration_us <= 3``."""
_SETTINGS: Final = ("tolerance", "better")
_FORM: Final = "Write: path op value, with op one of < <= > >= == !="
_TOLERANCE_FORM: Final = "Write a tolerance such as 3%, 0.5 us, or 3% and 0.5 us."


class Threshold(Record, frozen=True, kw_only=True):
    """A value against a number, a word or a flag."""

    expression: str
    path: MetricPath
    operator: Operator
    literal: Scalar
    """Numbers in the field's unit."""


class Regression(Record, frozen=True, kw_only=True):
    """A value against the baseline's."""

    expression: str
    path: MetricPath
    better: Better
    relative: float | None
    """Tolerated share: 0.03 is 3 %."""
    absolute: float | None
    """Tolerated difference in the field's unit. With both, a regression exceeds both."""


class GatePlan(Record, frozen=True, kw_only=True):
    """All gates, in the order written."""

    thresholds: tuple[Threshold, ...] = ()
    regressions: tuple[Regression, ...] = ()


def default_plan() -> GatePlan:
    """The gates of a baseline without a thresholds file."""
    return GatePlan(regressions=tuple(_regression(path, text) for path, text in DEFAULT_REGRESSIONS.items()))


def read_plan(document: YamlDocument, *, compared: bool = True) -> GatePlan:
    """The gates of a thresholds file.

    Args:
        document: the file.
        compared: there is to be a baseline, and what the file does not say of it is the default.

    Raises:
        InputFileError: not of this form, or gates that no value could pass together; names file, line and key.
        UsageError: a path that no report has.
    """
    data = document.data
    if not isinstance(data, dict):
        found = "an empty file" if data is None else _kind(data)
        raise document.error(
            (), f"found {found}, expected thresholds: or regressions:", "See docs/ci.md for an example."
        )
    unknown = next((key for key in data if key not in _PARTS), None)
    if unknown is not None:
        raise document.error((unknown,), "no such part; expected thresholds: or regressions:", "Correct the name.")
    thresholds = _read_thresholds(document, data)
    unsaid = default_plan().regressions if compared else ()
    regressions = _read_regressions(document, data) if "regressions" in data else unsaid
    if not thresholds and not data.get("regressions"):
        raise document.error((), "holds no gate", "Add one, or leave the file out.")
    return GatePlan(thresholds=thresholds, regressions=regressions)


def _read_thresholds(document: YamlDocument, data: dict[str, Any]) -> tuple[Threshold, ...]:
    listed = data.get("thresholds", [])
    if not isinstance(listed, list):
        raise document.error(("thresholds",), f"found {_kind(listed)}, expected a list", "Begin each line with a dash.")
    made: list[Threshold] = []
    for index, item in enumerate(listed):
        key = ("thresholds", index)
        if not isinstance(item, str):
            raise document.error(key, f"found {_kind(item)}, expected text", _FORM)
        try:
            threshold = parse_threshold(item)
            _refuse_contradiction(threshold, made)
        except UsageError as error:
            raise document.error(key, error.message, error.hint) from error
        made.append(threshold)
    return tuple(made)


def _read_regressions(document: YamlDocument, data: dict[str, Any]) -> tuple[Regression, ...]:
    listed = data["regressions"]
    if not isinstance(listed, dict):
        hint = "Write path: tolerance, one a line; {} for none."
        raise document.error(("regressions",), f"found {_kind(listed)}, expected path: tolerance", hint)
    return tuple(_located_regression(document, path, value) for path, value in listed.items())


def _located_regression(document: YamlDocument, path: str, value: Any) -> Regression:
    try:
        return _regression(path, value)
    except UsageError as error:
        raise document.error(("regressions", path), error.message, error.hint) from error


def _kind(value: object) -> str:
    kinds = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return kinds.get(type(value), "a number")


def parse_threshold(text: str) -> Threshold:
    """``path op literal``.

    Raises:
        UsageError: not of that form, an unknown path, or a literal that the field cannot be held against.
    """
    matched = _EXPRESSION.fullmatch(text)
    if matched is None or matched["operator"] not in get_args(Operator):
        raise UsageError(f"found {text!r}, expected path op value", _FORM)
    path = parse_path(matched["path"])
    operator: Operator = matched["operator"]  # type: ignore[assignment]
    literal = _literal(path.field, matched["literal"])
    if operator not in ("==", "!=") and not (path.field.is_number and not isinstance(literal, str)):
        raise UsageError(f"{text}: {operator} is for numbers, and this is {_of_kind(path.field)}", "Use == or !=.")
    return Threshold(expression=" ".join(text.split()), path=path, operator=operator, literal=literal)


def _of_kind(field: Field) -> str:
    return "true or false" if "boolean" in field.kinds else "text"


def _literal(field: Field, text: str) -> Scalar:
    unquoted = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
    if field.is_number:
        found = number_and_unit(text)
        if found is None:
            raise UsageError(f"found {text!r}, expected a finite number", "Write a number, with or without its unit.")
        return in_unit_of(field, *found)
    if field.kinds == {"boolean"}:
        if unquoted.lower() not in ("true", "false"):
            raise UsageError(f"found {text!r}, expected true or false", "Correct the value.")
        return unquoted.lower() == "true"
    if field.choices and unquoted not in field.choices:
        raise UsageError(f"found {unquoted!r}, which it can never be", f"It is one of: {', '.join(field.choices)}")
    return unquoted


def _regression(text: str, value: Any) -> Regression:
    path = parse_path(text)
    if not path.field.is_number:
        raise UsageError(f"this is {_of_kind(path.field)}, and has no tolerance", f"Add a threshold: {text} == ...")
    settings = value if isinstance(value, dict) else {"tolerance": value}
    unknown = next((key for key in settings if key not in _SETTINGS), None)
    if unknown is not None or "tolerance" not in settings:
        found = f"found the key {unknown!r}" if unknown else "found no tolerance"
        raise UsageError(f"{found}; expected tolerance and better", "{tolerance: 3%, better: higher}")
    better = settings.get("better", path.field.better)
    if better not in ("lower", "higher"):
        found = f"found better: {better!r}" if "better" in settings else "neither way is better for this field"
        raise UsageError(found, f"{{tolerance: {settings['tolerance']}, better: lower}} or better: higher")
    relative, absolute = _tolerance(path.field, settings["tolerance"])
    chosen = f" ({better} is better)" if "better" in settings else ""
    expression = f"{text}: {settings['tolerance']}{chosen}"
    return Regression(expression=expression, path=path, better=better, relative=relative, absolute=absolute)


def _tolerance(field: Field, value: Any) -> tuple[float | None, float | None]:
    """The relative and the absolute part. Of a field in percent a bare ``3%`` is relative too."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not field.shown_unit:
        value = str(value)
    if not isinstance(value, str):
        hint = f"{value}% or {value} {field.shown_unit or ''}".rstrip()
        raise UsageError(f"found {_kind(value)} without a unit, expected a tolerance", f"Which of the two: {hint}?")
    relative: float | None = None
    absolute: float | None = None
    for one in re.split(r"\s+and\s+", value.strip()):
        found = number_and_unit(one)
        if found is None or found[0] < 0:
            raise UsageError(f"found {one!r}, expected a finite tolerance of 0 or more", _TOLERANCE_FORM)
        number, unit = found
        if unit == "%" and relative is None:
            relative = number / 100.0
        elif unit != "%" and absolute is None:
            if not unit and field.shown_unit:
                raise UsageError(f"found {one!r} without a unit", f"{one}% or {one} {field.shown_unit}?")
            absolute = in_unit_of(field, number, unit)
        else:
            raise UsageError(f"found two tolerances of one kind in {value!r}", _TOLERANCE_FORM)
    return relative, absolute


def _refuse_contradiction(new: Threshold, others: list[Threshold]) -> None:
    for other in others:
        if other.path.text != new.path.text:
            continue
        if other.expression == new.expression:
            raise UsageError(f"found {new.expression!r} twice", "Keep one of the two.")
        if not _possible(new, other):
            message = f"{new.expression!r} contradicts {other.expression!r}: no value passes both"
            raise UsageError(message, "Correct one of the two.")


def _possible(one: Threshold, other: Threshold) -> bool:
    """Some value passes both."""
    for first, second in ((one, other), (other, one)):
        if first.operator == "==":
            return holds(first.literal, second.operator, second.literal)
    if isinstance(one.literal, (str, bool)) or isinstance(other.literal, (str, bool)):
        # Two flags that must not be true and not be false leave nothing.
        return not (isinstance(one.literal, bool) and one.literal != other.literal)
    low, high = -math.inf, math.inf
    strict = False
    for threshold in (one, other):
        literal = float(threshold.literal)
        if threshold.operator in (">", ">=") and literal >= low:
            low = literal
        elif threshold.operator in ("<", "<=") and literal <= high:
            high = literal
        strict = strict or threshold.operator in ("<", ">")
    return low < high or (low == high and not strict)


def holds(value: Scalar, operator: Operator, literal: Scalar) -> bool:
    """``value operator literal``; a word or a flag is equal or not, and in no order."""
    if operator == "==":
        return value == literal
    if operator == "!=":
        return value != literal
    assert isinstance(value, (int, float))
    assert isinstance(literal, (int, float))
    if operator in ("<", "<="):
        return value < literal or (operator == "<=" and value == literal)
    return value > literal or (operator == ">=" and value == literal)
