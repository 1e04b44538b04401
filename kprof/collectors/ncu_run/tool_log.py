"""What ncu says while it runs: its own lines, the launches it profiled, their passes."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_OWN_LINE: Final = re.compile(r"==(?:ERROR|WARNING|PROF)==.*")
_ERROR_LINE: Final = re.compile(r"^==ERROR==\s*(.*)", re.MULTILINE)
_PROFILING: Final = re.compile(r'==PROF== Profiling "(?P<name>.*?)" - (?P<id>\d+)')
_PASSES: Final = re.compile(r"- (\d+) pass(?:es)?\b")
_MOST_LINES: Final = 40


class LoggedLaunch(NamedTuple):
    """One launch, from the tool's log."""

    name: str
    position: int
    passes: int | None
    """None: it is not over."""


def own_lines(*texts: str) -> str:
    """The tool's own lines, the last of them, each once: what stands between them is of the program that it ran."""
    lines = dict.fromkeys(line.strip() for text in texts for line in _OWN_LINE.findall(text))
    return "\n".join(list(lines)[-_MOST_LINES:])


def errors_in(*texts: str) -> tuple[str, ...]:
    """What its errors say, each once."""
    return tuple(dict.fromkeys(found.strip() for text in texts for found in _ERROR_LINE.findall(text)))


def logged_launches(log: str) -> tuple[LoggedLaunch, ...]:
    """The launches that the log names, in order."""
    found = list(_PROFILING.finditer(log))
    launches = []
    for index, match in enumerate(found):
        end = found[index + 1].start() if index + 1 < len(found) else len(log)
        passes = _PASSES.search(log, match.end(), end)
        launches.append(LoggedLaunch(match["name"], int(match["id"]), int(passes[1]) if passes else None))
    return tuple(launches)


def most_passes(log: str) -> int | None:
    """Passes of the launch that took most; None where the log tells none."""
    return max((launch.passes for launch in logged_launches(log) if launch.passes is not None), default=None)
