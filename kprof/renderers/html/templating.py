"""Filling the templates: everything is escaped but what is marked as markup here."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kprof.renderers.why import sentence

_FOLDER: Final = Path(__file__).with_name("templates")


def fill(template: str, **values: Any) -> str:
    """A template of the folder, filled."""
    return _environment().get_template(template).render(**values)


def _printable(value: Any) -> Any:
    """Text without control characters and without what turns its direction; line breaks stay."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in value)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    made.filters["sentence"] = sentence
    made.globals["style"] = Markup((_FOLDER / "page.css").read_text(encoding="utf-8"))
    made.globals["script"] = Markup(script)
    # The page may run this script and no other: what got into it by a name in a report runs nowhere.
    made.globals["script_hash"] = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return made
