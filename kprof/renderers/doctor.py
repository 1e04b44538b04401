"""The answer of ``kprof doctor`` for people."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from kprof.doctor.records import Check, Diagnosis, State
from kprof.renderers.layout import LABEL_WIDTH, Colour, Style

_NAME_WIDTH: Final = 20
_INDENT: Final = " " * (LABEL_WIDTH + _NAME_WIDTH)
_COLOURS: Final[dict[State, Colour]] = {"ok": "green", "warn": "yellow", "fail": "red", "skipped": "bold"}


def render_diagnosis(diagnosis: Diagnosis, style: Style) -> str:
    """Every check, what needs mending with its reason and its hint; the conclusion last."""
    lines: list[str] = []
    for (state, found), checks in groupby(diagnosis.checks, key=lambda one: (one.state, one.found)):
        alike = list(checks)
        if state == "skipped" and len(alike) > 1:
            names = ", ".join(_words(check.name) for check in alike)
            lines += _line(state, "", f"{found}: {names}", style)
        else:
            for check in alike:
                lines += _check_lines(check, style)
    return "\n".join([*lines, "", *_conclusion(diagnosis, style)]) + "\n"


def _check_lines(check: Check, style: Style) -> list[str]:
    lines = _line(check.state, _words(check.name), check.found, style)
    if check.state in ("warn", "fail"):
        lines += style.wrapped(f"Why: {check.why}.", indent=_INDENT)
        lines += style.wrapped(check.hint, indent=f"{_INDENT}  ", first=f"{_INDENT}> ") if check.hint else []
    return lines


def _line(state: State, name: str, text: str, style: Style) -> list[str]:
    head = state.ljust(LABEL_WIDTH)
    first, *more = style.wrapped(text, indent=_INDENT, first=head + (name.ljust(_NAME_WIDTH) if name else ""))
    return [style.paint(head, _COLOURS[state]) + first[LABEL_WIDTH:], *more]


def _words(name: str) -> str:
    return name.replace("_", " ")


def _conclusion(diagnosis: Diagnosis, style: Style) -> list[str]:
    where = "the CPU" if diagnosis.device == "cpu" else diagnosis.device
    if diagnosis.ready:
        text = f"kprof analyze can run in full on {where}."
        if diagnosis.device == "cpu":
            text += " CUDA kernels and hardware counters need a machine with an NVIDIA GPU."
        return style.wrapped(text)
    failed = [_words(check.name) for check in diagnosis.checks if check.state == "fail"]
    return style.wrapped(f"kprof analyze cannot run in full on {where}. To mend: {', '.join(failed)}.")
