"""Text from outside in Markdown: it reads as it was, and is neither markup, nor a link, nor a call to anybody.

Characters with a meaning become numeric references, which no Markdown takes for structure, in a table or out of one.
Forges look for ``@name``, ``#123``, addresses and the like in the finished page, where a reference is a character
again; they leave code alone: a word that looks like one of these is set as code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kprof.renderers.content import Table
from kprof.renderers.layout import Style

_PLAIN: Final = Style()
_MEANS_SOMETHING: Final = re.compile(r"[\\`*{}\[\]<>&|~$#@!]+|(?<![0-9A-Za-z_])_+|_+(?![0-9A-Za-z_])")
_STARTS_A_BLOCK: Final = re.compile(r"^([-+=]|\d{1,9}[.)](?=\s|$))")
_LINKED: Final = re.compile(
    r"[@#!$~&%]\w|://|www\.|\bgh-\d|mailto:|xmpp:|:[a-z_+-][a-z0-9_+-]*:|^\W*(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\W*$",
    re.IGNORECASE,
)
_BACKTICKS: Final = re.compile(r"`+")
LONGEST_NAME: Final = 80
LONGEST_TEXT: Final = 400
"""Characters: what is longer is cut in its middle."""


def inline(text: str, longest: int = LONGEST_TEXT) -> str:
    """A sentence within a line."""
    cleaned = _brief(text, longest)
    words = (f"<code>{_inert(word)}</code>" if _LINKED.search(word) else _inert(word) for word in cleaned.split(" "))
    return " ".join(words)


def item(text: str) -> str:
    """A sentence as one item of a list, whatever it begins with."""
    begun = _STARTS_A_BLOCK.sub(lambda found: f"{found.group()[:-1]}&#{ord(found.group()[-1])};", inline(text))
    return f"- {begun}"


def code(text: str, longest: int = LONGEST_NAME) -> str:
    """A name, cut in its middle where it is long."""
    cleaned = _brief(text, longest)
    return f"<code>{_inert(cleaned)}</code>" if cleaned else ""


def _brief(text: str, longest: int) -> str:
    """Clean, and cut in the middle; of a very long text the ends alone are looked at."""
    ends = 4 * longest
    looked_at = text if len(text) <= 2 * ends else f"{text[:ends]} {text[-ends:]}"
    return _PLAIN.shorten(_PLAIN.clean(looked_at), longest)


def _inert(text: str) -> str:
    return _MEANS_SOMETHING.sub(lambda found: "".join(f"&#{ord(char)};" for char in found.group()), text)


def fenced(lines: Sequence[str]) -> str:
    """Output as it is, in a fence that it cannot end."""
    cleaned = [_PLAIN.shorten(_PLAIN.verbatim(line), LONGEST_TEXT) for line in lines]
    longest = max((len(run) for line in cleaned for run in _BACKTICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join((f"{fence}text", *cleaned, fence))


def table_head(table: Table) -> list[str]:
    """The header of a table and the line below it."""
    align = ["---" if index in table.words else "---:" for index in range(len(table.headers))]
    return [f"| {' | '.join(inline(header) for header in table.headers)} |", f"| {' | '.join(align)} |"]


def table_row(table: Table, row: Sequence[str]) -> str:
    """One row of it."""
    cells = (code(cell) if index in table.names else inline(cell, LONGEST_NAME) for index, cell in enumerate(row))
    return f"| {' | '.join(cells)} |"


def folded(title: str, body: str) -> str:
    """What is shown when its title is clicked."""
    return f"<details><summary>{inline(title)}</summary>\n\n{body}\n\n</details>"
