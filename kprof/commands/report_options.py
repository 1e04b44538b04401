"""The options of every command that makes a report."""

from __future__ import annotations

from pathlib import Path
from typing import Final, get_args

import click

from kprof.renderers import FORMATS
from kprof.roofline import RoofChoice

FILE: Final = click.Path(path_type=Path)
REPORT: Final = click.Path(path_type=Path, allow_dash=True)
"""A report to read: a file, or ``-`` for stdin."""
roof_option = click.option(
    "--roof",
    type=click.Choice(get_args(RoofChoice)),
    default="spec",
    show_default=True,
    help="Peaks of the spec, those ncu saw, or those measured.",
)
ceilings_option = click.option(
    "--ceilings", "ceilings_file", type=FILE, help="Measured roofs: a file of kprof doctor --ceilings --json."
)
format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(list(FORMATS)),
    help="What to write; not given: what the name of -o FILE says, else json.",
)
output_option = click.option("-o", "--output", type=FILE, help="Write the report here instead of stdout.")
html_option = click.option("--html", type=FILE, help="Write the report as a page for a browser here as well.")
