"""What the block ``integrity`` says of compute-sanitizer: its findings, and one verdict a tool."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

from kprof.capture import Capture
from kprof.evidence import Reason, Record
from kprof.kernelnames import base_name
from kprof.metrics import metric
from kprof.sanitizer_evidence import FindingKind, SanitizerFinding, SanitizerRun, SanitizerTool

SOURCE: Final = "compute-sanitizer, one call of the kernel"
_MOST_TOLD: Final = 3


class FindingInfo(Record, frozen=True, kw_only=True):
    """One thing found at one place in the code."""

    kind: Annotated[FindingKind, metric("text", "What it is", source=SOURCE)]
    severity: Annotated[str, metric("text", "error or warning, as the tool has it", source=SOURCE)]
    message: Annotated[str, metric("text", "The tool's own words", source=SOURCE)]
    kernel: Annotated[str | None, metric("text", "Base name of the kernel; null: not told", source=SOURCE)]
    file: Annotated[
        str | None, metric("text", "Source file's name; null: compiled without line information", source=SOURCE)
    ]
    line: Annotated[int | None, metric("index", "Line in it", source=SOURCE)]
    thread: Annotated[
        tuple[int, int, int] | None, metric("index", "First thread that was reported, in its block", source=SOURCE)
    ]
    block: Annotated[tuple[int, int, int] | None, metric("index", "That thread's block", source=SOURCE)]
    reports: Annotated[int, metric("count", "Reports of it: threads, or hazards of a race", source=SOURCE)]


class SanitizerInfo(Record, frozen=True, kw_only=True):
    """One tool's run."""

    tool: Annotated[SanitizerTool, metric("text", "The tool", source=SOURCE)]
    reason: Annotated[
        Reason | None, metric("record", "Why it cannot say that nothing is wrong; null: it can", source=SOURCE)
    ]
    findings: Annotated[tuple[FindingInfo, ...], metric("record", "What it found, errors first", source=SOURCE)]
    left_out: Annotated[int, metric("count", "Findings beyond those", source=SOURCE)]
    errors: Annotated[
        int | None,
        metric(
            "count", "Errors in the tool's own sum, each race counted once; null: it did not come to it", source=SOURCE
        ),
    ]
    seconds: Annotated[float, metric("s", "What the run took", source=SOURCE)]


class Judgement(NamedTuple):
    """One tool's verdict, as a check of the block."""

    name: SanitizerTool
    passed: bool | None
    detail: str
    code: str
    """Why ``passed`` is null; empty: it is not."""


def sanitizer_infos(capture: Capture) -> tuple[SanitizerInfo, ...] | None:
    """The runs; None: none was asked for."""
    if capture.sanitizer is None:
        return None
    return tuple(
        SanitizerInfo(
            tool=run.tool,
            reason=run.absent,
            findings=tuple(_info(finding) for finding in run.findings),
            left_out=run.left_out,
            errors=run.errors,
            seconds=run.seconds,
        )
        for run in capture.sanitizer.runs
    )


def sanitizer_judgements(capture: Capture) -> tuple[Judgement, ...]:
    """A verdict a tool: an error fails, a warning does not, and a tool that could not do its work passes nothing."""
    return tuple(map(_judge, capture.sanitizer.runs)) if capture.sanitizer is not None else ()


def _judge(run: SanitizerRun) -> Judgement:
    errors = [finding for finding in run.findings if finding.severity == "error"]
    if errors or run.errors:
        more = len(errors) - _MOST_TOLD + run.left_out
        told = [_sentence(finding) for finding in errors[:_MOST_TOLD]] or [f"{run.errors} errors of no known form"]
        detail = "; ".join(told) + (f"; and {more} more" if more > 0 else "") + _unprinted(run)
        return Judgement(run.tool, False, detail, "")
    if run.absent is not None:
        return Judgement(run.tool, None, run.absent.message, run.absent.code)
    warnings = [_sentence(finding) for finding in run.findings[:_MOST_TOLD]]
    return Judgement(run.tool, True, "; ".join(f"warning: {warning}" for warning in warnings), "")


def _unprinted(run: SanitizerRun) -> str:
    """A log holds a bounded number of reports; its sum counts them all. Of races the sum counts places, not hazards."""
    printed = sum(finding.count for finding in run.findings if finding.kind != "race")
    if not printed or run.left_out or run.errors is None or run.errors <= printed:
        return ""
    return f" ({run.errors} errors in all, of which {printed} were written down)"


def _sentence(finding: SanitizerFinding) -> str:
    where = f" in {base_name(finding.kernel)}" if finding.kernel else ""
    if finding.file:
        where += f" at {finding.file}:{finding.line}"
    who = f", thread {finding.thread} of block {finding.block}" if finding.thread and finding.block else ""
    of = "hazards" if finding.kind == "race" else "times"
    times = f", {finding.count} {of}" if finding.count > 1 else ""
    return f"{finding.message}{where}{who}{times}"


def _info(finding: SanitizerFinding) -> FindingInfo:
    return FindingInfo(
        kind=finding.kind,
        severity=finding.severity,
        message=finding.message,
        kernel=base_name(finding.kernel) if finding.kernel else None,
        file=finding.file,
        line=finding.line,
        thread=finding.thread,
        block=finding.block,
        reports=finding.count,
    )
