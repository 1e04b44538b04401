"""``kprof report``: a report again, in another format."""

from __future__ import annotations

from pathlib import Path

import click

from kprof.commands.delivery import format_for, put_report, require_place, say_notes
from kprof.commands.report_options import REPORT, output_option
from kprof.files import require_outputs
from kprof.renderers import FORMATS
from kprof.report_file import load_report


@click.command("report")
@click.argument("file", type=REPORT)
@click.option(
    "--format",
    "format_",
    type=click.Choice(list(FORMATS)),
    help="What to write; not given: what the name of -o FILE says, else text.",
)
@output_option
def command(file: Path, format_: str | None, output: Path | None) -> None:
    """Write a report again in another format.

    FILE is a report that kprof analyze or kprof import wrote as JSON; - is stdin.
    """
    require_outputs((output,), (file,))
    chosen = format_for(format_, output, "text")
    require_place(chosen, output)
    report, notes = load_report(file)
    say_notes(notes)
    put_report(report, chosen, output)
