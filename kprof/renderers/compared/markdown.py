"""A comparison as Markdown for a comment on a pull request."""

from __future__ import annotations

from typing import Final

from kprof.comparison.records import Comparison
from kprof.renderers.compared.content import circumstances, sections, title, verdicts
from kprof.renderers.markdown import MOST_BYTES, section, verdict_table
from kprof.renderers.markup import inline

_MOST_KERNELS: Final = 400
_SECTIONS: Final = 4
_OF_A_SECTION: Final = (MOST_BYTES - 24_000) // _SECTIONS
"""The verdict takes some 15,000 bytes at most, title and files a few thousand."""


def render(comparison: Comparison) -> str:
    """The comparison as Markdown, one trailing newline, under `MOST_BYTES`."""
    head = [f"### {inline(title(comparison))}", "<br>".join(map(inline, circumstances(comparison)))]
    body = [section(one, _OF_A_SECTION) for one in sections(comparison, _MOST_KERNELS)]
    return "\n\n".join((*head, verdict_table(verdicts(comparison)), *body)) + "\n"
