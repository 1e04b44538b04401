"""A comparison as a page: one file, without network or scripts, light or dark as the reader's system is."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2

from kprof.comparison.records import Comparison, Value
from kprof.renderers.compared.content import circumstances, in_unit, sections, time_of, title, verdicts
from kprof.renderers.layout import Style

_HERE: Final = Path(__file__).parent
_MOST_KERNELS: Final = 200
_LONGEST: Final = 400
_PLAIN: Final = Style()


def render(comparison: Comparison) -> str:
    """The page. What comes from outside is escaped, without control characters, and cut where it is long."""
    return _template().render(
        title=title(comparison),
        circumstances=circumstances(comparison),
        verdicts=verdicts(comparison),
        bars=_bars(comparison),
        sections=sections(comparison, _MOST_KERNELS),
        version=comparison.kprof_version,
    )


def _bars(comparison: Comparison) -> list[tuple[str, str, float]]:
    """The kernel's time in both, with the length of its bar in percent of the longer; none where one has no time."""
    time = time_of(comparison)
    if time is None or comparison.verdict.speedup is None:
        return []
    values: list[tuple[str, Value | None]] = [("a", time.a), ("b", time.b)]
    longest = max((one for _, one in values if isinstance(one, (int, float))), default=0.0)
    return [
        (which, in_unit(one, time.unit), 100.0 * one / longest)
        for which, one in values
        if isinstance(one, (int, float)) and longest
    ]


def shown(value: Any) -> str:
    """Text without control characters and marks of direction, cut in its middle where it is long."""
    return _PLAIN.shorten(_PLAIN.clean(str(value)), _LONGEST)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["shown"] = shown
    return environment.get_template("page.html.j2")
