"""Chrome-trace JSON, also where it is not quite JSON: text in, the list of events out.

What profilers are known to write: bare ``inf`` and ``nan`` (kineto#105), single backslashes (kineto#336,
pytorch#98432), control characters (pytorch#130622), and files that end too early.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, Final, NamedTuple


class EventList(NamedTuple):
    """The events of a trace as they stand there; numbers with a point are `Decimal`."""

    events: list[Any]
    skipped: int = 0
    """Events that could not be mended."""
    truncated: bool = False
    """The text ends before the list does."""


def read_events(text: str) -> EventList | None:
    """The events of a trace (an object with ``traceEvents``, or the bare list); None where there is no such list.

    Text that a lenient JSON parser refuses is read event by event: one that is broken is mended or given up, and costs
    none of the others.
    """
    try:
        document = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return _salvaged(text)
    events = document.get("traceEvents") if isinstance(document, dict) else document
    return EventList(events) if isinstance(events, list) else None


def _absent(_constant: str) -> None:
    """NaN and Infinity, for which Python's parser would give a float."""


# Not strict: control characters may stand in strings. Decimal: no digit of a time is lost.
_DECODER: Final = json.JSONDecoder(strict=False, parse_float=Decimal, parse_constant=_absent)
_LIST_START: Final = re.compile(r'"traceEvents"\s*:\s*\[|\A\s*\[')
_EVENT_START: Final = re.compile(r'\{\s*"(?:ph|name|cat)"\s*:')
_SEPARATORS: Final = re.compile(r"[\s,]*")
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[-+]?\b(?:inf|infinity|nan)\b', re.IGNORECASE | re.DOTALL)
_BACKSLASH: Final = re.compile(r'\\(?P<escaped>["\\/bfnrt]|u[0-9a-fA-F]{4})?')


def _salvaged(text: str) -> EventList | None:
    start = _LIST_START.search(text)
    if start is None:
        return None
    events: list[Any] = []
    skipped, position = 0, _after_separators(text, start.end())
    while position < len(text) and text[position] != "]":
        event, end = _decode_at(text, position)
        if end is None:
            following = _EVENT_START.search(text, position + 1)
            end = following.start() if following else len(text)
            event, rest = _mended(text[position:end])
            if event is None and following is None:
                break
            skipped += event is None
            if following is None and rest.startswith("]"):
                return EventList([*events, event], skipped)
        if event is not None:
            events.append(event)
        position = _after_separators(text, end)
    return EventList(events, skipped, truncated=position >= len(text) or text[position] != "]")


def _after_separators(text: str, position: int) -> int:
    match = _SEPARATORS.match(text, position)
    return match.end() if match else position


def _decode_at(text: str, position: int) -> tuple[Any, int | None]:
    """One JSON value and where it ends; no end where it is broken."""
    try:
        return _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None, None


def _mended(chunk: str) -> tuple[Any, str]:
    """A broken event with bare infinities and stray backslashes put right, and what follows it."""
    mended = _TOKEN.sub(_mended_token, chunk)
    event, end = _decode_at(mended, 0)
    return event, "" if end is None else mended[_after_separators(mended, end) :]


def _mended_token(match: re.Match[str]) -> str:
    token = match.group(0)
    if not token.startswith('"'):
        return "null"
    return _BACKSLASH.sub(lambda escape: escape.group(0) if escape["escaped"] else r"\\", token)
