"""Reads what compute-sanitizer wrote into its log: records of what it found, and its own sum.

The text is read and not the XML, which has no published schema: the manual shows the text, and all releases write it.
A record is a line that is not indented and the indented ones after it. Locations come in two forms,
``kernel(int *)+0x70 in file.cu:41`` and, before 2023, ``0x250 in file.cu:41:kernel(int *)``, each with or without file
and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from kprof.sanitizer_evidence import FindingKind, SanitizerFinding

MOST_FINDINGS: Final = 50
_PREFIX: Final = "========="
_MOST_CHARS: Final = 500
_WHO: Final = re.compile(r"by thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
_NEWER: Final = re.compile(r"(?P<name>.*\S)\+0x[0-9a-f]+(?: in (?P<file>.+):(?P<line>\d+))?$")
_OLDER: Final = re.compile(r"0x[0-9a-f]+ in (?:(?P<file>.+?):(?P<line>\d+):)?(?P<name>.+)$")
_HAZARDS: Final = re.compile(r"\[(\d+) hazards?\]")
_RACE: Final = re.compile(
    r"^(?:(?P<level>error|warning|info): )?(?:potential )?(?:race reported|(?:RAW|WAR|WAW) hazard)", re.IGNORECASE
)
_ACCESS: Final = re.compile(r"\baccess at (?P<place>.+)$", re.IGNORECASE)
_SUM: Final = re.compile(
    r"(?:ERROR SUMMARY: (?P<errors>\d+) errors?\b(?! (?:was|were) not printed)"
    r"|RACECHECK SUMMARY: \d+ hazards? displayed \((?P<races>\d+) error)"
)
_NOT_PRINTED: Final = re.compile(r"ERROR SUMMARY: \d+ errors? (?:was|were) not printed")
_FOUND: Final = re.compile(
    r"^(?:potential )?invalid\b|^uninitialized\b|^barrier error|^divergent thread|^malloc/free|^stack overflow|"
    r"^deadlock|^device-side|^illegal|^host api .*access|^out-of-range|^address space",
    re.IGNORECASE,
)
UNSUPPORTED: Final = re.compile(r"Device not supported|driver is (?:not compatible|incompatible)|not supported on")
NOTHING_RAN: Final = re.compile(r"terminated before first instrumented")


class _Place(NamedTuple):
    """A place in device code."""

    name: str | None
    file: str | None
    line: int | None


@dataclass(frozen=True)
class LogFindings:
    """What a log holds."""

    findings: tuple[SanitizerFinding, ...]
    """Those at one place joined, in the order they came, errors before warnings."""
    errors: int | None
    """The tool's own count; None: it did not come to its sum."""


def read_log(text: str) -> LogFindings:
    """All that a log says was found; lines of no meaning here are skipped."""
    joined: dict[tuple[object, ...], SanitizerFinding] = {}
    errors: int | None = None
    for record in _records(text):
        told = _SUM.match(record[0])
        errors = int(told["errors"] or told["races"]) if told is not None else errors
        finding = _finding(record)
        if finding is None:
            continue
        key = (finding.kind, finding.severity, finding.message, finding.kernel, finding.file, finding.line)
        known = joined.get(key)
        count = finding.count + (known.count if known is not None else 0)
        joined[key] = msgspec.structs.replace(known or finding, count=count)
    found = sorted(joined.values(), key=lambda finding: finding.severity != "error")
    return LogFindings(tuple(found), errors)


def own_errors(text: str) -> str:
    """The tool's words about itself, where it could not do its work: what is no record and no sum."""
    heads = [record[0] for record in _records(text) if _finding(record) is None]
    known = (_SUM, _NOT_PRINTED)
    return "\n".join(
        head for head in heads if head != "COMPUTE-SANITIZER" and not any(one.match(head) for one in known)
    )


def _records(text: str) -> Iterator[list[str]]:
    """Heads with the indented lines after them. A name may hold a line's end: what has no prefix is skipped."""
    record: list[str] = []
    for line in text.splitlines():
        if not line.startswith(_PREFIX):
            continue
        content = line[len(_PREFIX) :].rstrip()[:_MOST_CHARS]
        if content.startswith("  ") and record:
            record.append(content.strip())
            continue
        if record:
            yield record
        record = [content.strip()] if content.strip() else []
    if record:
        yield record


def _finding(record: list[str]) -> SanitizerFinding | None:
    head = record[0]
    race = _RACE.match(head)
    if race is not None:
        return _race(record, (race["level"] or "error").lower())
    if not _FOUND.match(head):
        return None
    who = next((match for line in record if (match := _WHO.search(line))), None)
    numbers = tuple(map(int, who.groups())) if who else ()
    at = next((place for line in record if line.startswith("at ") and (place := _place(line[3:]))), None)
    detail = next((line for line in record if line.startswith(("Access", "Address")) and " is " in line), "")
    return SanitizerFinding(
        kind=_kind(head, detail),
        severity="error",
        message=f"{head.removesuffix('.')}: {_without_address(detail)}" if detail else head,
        kernel=_outermost(record) or (at.name if at else None),
        file=at.file if at else None,
        line=at.line if at else None,
        thread=(numbers[0], numbers[1], numbers[2]) if numbers else None,
        block=(numbers[3], numbers[4], numbers[5]) if numbers else None,
    )


def _race(record: list[str], level: str) -> SanitizerFinding | None:
    if level == "info":
        return None
    places = [place for line in record if (access := _ACCESS.search(line)) and (place := _place(access["place"]))]
    first = next(iter(places), _Place(None, None, None))
    hazards = sum(int(count) for line in record for count in _HAZARDS.findall(line))
    others = [f"{place.file}:{place.line}" for place in places[1:] if place.file]
    return SanitizerFinding(
        kind="race",
        severity="warning" if level == "warning" else "error",
        message=_without_place(record) + (f" with {', '.join(dict.fromkeys(others))}" if others else ""),
        kernel=first.name,
        file=first.file,
        line=first.line,
        count=max(1, hazards),
    )


def _without_place(record: list[str]) -> str:
    """``Race reported between Write access and Read access``: the accesses, without where they stand."""
    accesses = [match[1] for line in record for match in re.finditer(r"\b(\w+) access at ", line)]
    return f"Race between {' access and '.join(dict.fromkeys(accesses))} access" if accesses else record[0]


def _kind(head: str, detail: str) -> FindingKind:
    words = f"{head} {detail}".lower()
    patterns: Iterable[tuple[str, FindingKind]] = (
        ("uninitialized", "uninitialized_read"),
        ("out of bounds", "out_of_bounds"),
        ("misaligned", "misaligned"),
        ("invalid", "invalid_access"),
    )
    return next((kind for pattern, kind in patterns if pattern in words), "other")


def _without_address(detail: str) -> str:
    """Of ``Address 0x7f10 is out of bounds``: addresses differ by thread and by run."""
    return re.sub(r"^(?:Access(?: to)?|Address) (?:at )?0x[0-9a-f]+ ", "access ", detail)


def _place(text: str) -> _Place | None:
    text = _HAZARDS.sub("", text).strip()
    found = _OLDER.match(text) or _NEWER.match(text)
    if found is None:
        return None
    return _Place(found["name"].strip(), found["file"], int(found["line"]) if found["line"] else None)


def _outermost(record: list[str]) -> str | None:
    """The kernel that called what is named first, through the device's frames."""
    frames = [line.partition("Device Frame:")[2].strip() for line in record if line.startswith("Device Frame:")]
    places = [place for frame in frames if (place := _place(frame))]
    return places[-1].name if places else None
