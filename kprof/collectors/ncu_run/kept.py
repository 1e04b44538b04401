"""A copy of a report for whoever asked to keep it."""

from __future__ import annotations

from pathlib import Path

from kprof.errors import UsageError
from kprof.evidence import Reason
from kprof.files import write_whole


def keep_report(report: Path, keep: Path | None) -> tuple[Path | None, tuple[Reason, ...]]:
    """Copy the report to where it is to be kept; a place that cannot be written costs the copy alone."""
    if keep is None:
        return None, ()
    try:
        write_whole(keep, report.read_bytes())
    except UsageError as error:
        return None, (Reason(code="report_not_kept", message=error.message, hint=error.hint),)
    return keep, ()
