"""``kprof compare``: what changed from one report to another, and why."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kprof.commands.delivery import format_for, put, say_notes, style_for
from kprof.commands.report_options import REPORT, output_option
from kprof.comparison.compare import compare
from kprof.errors import UsageError
from kprof.files import require_outputs
from kprof.renderers.compared import COMPARED_FORMATS, render_compared
from kprof.renderers.layout import Style
from kprof.report_file import load_report
from kprof.report_json import STDIN, name_of


@click.command("compare")
@click.argument("a", type=REPORT)
@click.argument("b", type=REPORT)
@click.option(
    "--format",
    "format_",
    type=click.Choice(list(COMPARED_FORMATS)),
    help="What to write; not given: what the name of -o FILE says, else text.",
)
@output_option
@click.option("--force", is_flag=True, help="Say which is faster although board, clocks or task differ.")
def command(a: Path, b: Path, format_: str | None, output: Path | None, force: bool) -> None:
    """Say what changed from report A to report B, and why.

    Both are what kprof analyze or kprof import wrote as JSON; - is stdin. Exit code 0 whatever the outcome: kprof check
    is the one that fails.
    """
    if a == b == STDIN:
        raise UsageError("both reports are to be read from stdin", "Give one of them as a file.")
    require_outputs((output,), (a, b))
    chosen = format_for(format_, output, "text", COMPARED_FORMATS)
    if output is None and sys.stdout is None:
        raise UsageError("stdout is closed, and the comparison has nowhere to go", "Give -o FILE.")
    (first, notes_a), (second, notes_b) = load_report(a), load_report(b)
    say_notes((*notes_a, *notes_b))
    compared = compare(first, second, (name_of(a), name_of(b)), force=force)
    style = style_for(sys.stdout) if output is None else Style()
    put(render_compared(chosen, compared, style), output, as_text=COMPARED_FORMATS[chosen].styled)
