"""Where a report goes: stdout or a file in the format asked for, and a summary on stderr."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from kprof.errors import UsageError
from kprof.evidence import Reason
from kprof.files import write_whole
from kprof.renderers import FORMATS, Format, format_of, render_as
from kprof.renderers.layout import Style

if TYPE_CHECKING:
    from kprof.report import Report


def deliver(report: Report, format_: str, output: Path | None, quiet: bool, html: Path | None = None) -> None:
    """Write the report, and tell people what is in it. What cannot go to its file goes to stdout: it is not lost.

    Args:
        report: what to write.
        format_: one of `FORMATS`.
        output: the file; None: stdout.
        quiet: no summary on stderr.
        html: the file of a page, which is written too.

    Raises:
        UsageError: a file cannot be written.
    """
    try:
        put_report(report, format_, output)
    except UsageError as error:
        if output is None or sys.stdout is None or (FORMATS[format_].binary and sys.stdout.isatty()):
            raise
        put_report(report, format_, None)
        raise UsageError(error.message, f"The report went to stdout instead. {error.hint}") from error
    if html is not None:
        put_report(report, "html", html)
    if not quiet and not (format_ == "text" and output is None):
        click.echo(render_as("text", report, style_for(sys.stderr)), err=True)


def put_report(report: Report, format_: str, output: Path | None) -> None:
    """Write the report in one of `FORMATS` to a file, or to stdout."""
    # A file keeps no colours and no width of the terminal that it was made from.
    style = style_for(sys.stdout) if output is None else Style()
    put(render_as(format_, report, style), output, as_text=FORMATS[format_].styled)


def format_for(asked: str | None, output: Path | None, otherwise: str, formats: Mapping[str, Format] = FORMATS) -> str:
    """The format that was asked for, else the one that the file's name ends in, else ``otherwise``.

    Raises:
        UsageError: the name ends in something that is none of ``formats``.
    """
    if asked is not None:
        return asked
    if output is None or not output.suffix[1:].isalpha():  # `run-1.5` has no ending
        return otherwise
    found = format_of(output, formats)
    if found is None:
        endings = ", ".join(f"{one.suffixes[0]} ({name})" for name, one in formats.items())
        message = f"-o {output}: {output.suffix} is the ending of no format here; expected {endings}"
        raise UsageError(message, f"Give --format {'|'.join(formats)}, or a name that ends so.")
    return found


def say_notes(notes: Iterable[Reason]) -> None:
    """What there is to know of a file that was read."""
    style = Style()
    for note in notes:
        click.echo(style.clean(f"kprof: note: {note.message}. {note.hint}"), err=True)


def put(rendered: str | bytes, output: Path | None, *, as_text: bool) -> None:
    """Write what was rendered to a file, or to stdout: text for people in its encoding, anything else as it is."""
    data = rendered if isinstance(rendered, bytes) else rendered.encode()
    if output is not None:
        write_whole(output, data)
    else:
        # What programs read is UTF-8 whatever the terminal's encoding.
        click.echo(rendered if as_text else data, nl=False)


def require_place(format_: str, output: Path | None) -> None:
    """A report needs stdout or a file, and a picture a stdout that is no terminal.

    Raises:
        UsageError: it would have nowhere to go.
    """
    if output is not None:
        return
    if sys.stdout is None:
        raise UsageError("stdout is closed, and the report has nowhere to go", "Give -o FILE.")
    if FORMATS[format_].binary and sys.stdout.isatty():
        hint = f"Give -o FILE{FORMATS[format_].suffixes[0]}, or send stdout to a file."
        raise UsageError(f"{format_} is not text, and stdout is a terminal", hint)


def style_for(stream: TextIO | None) -> Style:
    """How text looks on a stream: as wide as the terminal and coloured, or 80 columns and plain; ASCII at need."""
    on_terminal = stream is not None and stream.isatty()
    encoding = (getattr(stream, "encoding", None) or "ascii").lower()
    return Style(
        width=max(60, min(120, shutil.get_terminal_size((80, 24)).columns)) if on_terminal else 80,
        color=on_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        ascii_only=not encoding.replace("-", "").startswith("utf"),
    )
