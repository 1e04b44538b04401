"""Where a report goes: stdout or a file in the format asked for, and a summary on stderr."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TextIO

import click

from kprof.files import write_whole
from kprof.renderers import json as json_renderer
from kprof.renderers import text as text_renderer
from kprof.report import Report


def deliver(report: Report, format_: str, output: Path | None, quiet: bool) -> None:
    """Write the report, and tell people what is in it.

    Args:
        report: what to write.
        format_: ``json`` or ``text``.
        output: the file; None: stdout.
        quiet: no summary on stderr.
    """
    rendered = json_renderer.render(report) if format_ == "json" else _text(report, sys.stdout)
    if output is not None:
        write_whole(output, rendered.encode())
    else:
        # JSON is UTF-8 whatever the terminal's encoding.
        click.echo(rendered.encode() if format_ == "json" else rendered, nl=False)
    if not quiet and not (format_ == "text" and output is None):
        click.echo(_text(report, sys.stderr), err=True)


def _text(report: Report, stream: TextIO | None) -> str:
    on_terminal = stream is not None and stream.isatty()
    encoding = (getattr(stream, "encoding", None) or "ascii").lower()
    return text_renderer.render(
        report,
        width=max(60, min(120, shutil.get_terminal_size((80, 24)).columns)) if on_terminal else 80,
        color=on_terminal and not os.environ.get("NO_COLOR"),
        ascii_only=not encoding.replace("-", "").startswith("utf"),
    )
