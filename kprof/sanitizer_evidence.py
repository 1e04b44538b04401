"""The evidence that compute-sanitizer leaves: what each of its tools found in one call of the kernel."""

from __future__ import annotations

from typing import Final, Literal

from kprof.evidence import Reason, Record

SanitizerTool = Literal["memcheck", "racecheck", "initcheck", "synccheck"]
SANITIZER_TOOLS: Final[tuple[SanitizerTool, ...]] = ("memcheck", "racecheck", "initcheck", "synccheck")
FindingKind = Literal["out_of_bounds", "misaligned", "invalid_access", "race", "uninitialized_read", "other"]


class SanitizerFinding(Record, frozen=True, kw_only=True):
    """One thing found at one place in the code, however many threads ran into it."""

    kind: FindingKind
    severity: Literal["error", "warning"]
    """As the tool has it. Of its tools racecheck alone warns: of hazards that may be meant."""
    message: str
    """The tool's own words."""
    kernel: str | None
    """The kernel's name in full; None: the tool did not say."""
    file: str | None = None
    """Name of the source file, without its folder; None: compiled without line information."""
    line: int | None = None
    thread: tuple[int, int, int] | None = None
    """Of the first that was reported, as its block's."""
    block: tuple[int, int, int] | None = None
    count: int = 1
    """Reports of it: threads, or hazards of a race."""


class SanitizerRun(Record, frozen=True, kw_only=True):
    """One tool's run over one call of the kernel."""

    tool: SanitizerTool
    absent: Reason | None = None
    """Why the tool cannot say that nothing is wrong; what it found by then is here all the same."""
    findings: tuple[SanitizerFinding, ...] = ()
    errors: int | None = None
    """Errors that the tool counted in all; None: it did not come to its end."""
    left_out: int = 0
    """Findings beyond those that are kept."""
    seconds: float = 0.0
    command: tuple[str, ...] = ()


class SanitizerEvidence(Record, frozen=True, kw_only=True):
    """What was asked of compute-sanitizer, tool by tool."""

    version: str | None = None
    runs: tuple[SanitizerRun, ...] = ()
