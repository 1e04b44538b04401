"""``kprof schema``: the JSON Schema of a report."""

from __future__ import annotations

import click

from kprof.comparison.records import comparison_schema
from kprof.renderers.json import render_json
from kprof.report import report_schema


@click.command("schema")
@click.argument("of", type=click.Choice(["report", "comparison"]), default="report")
def command(of: str) -> None:
    """Print the JSON Schema of a report: every field's meaning, unit and source.

    `kprof schema comparison` prints that of what kprof compare writes.
    """
    click.echo(render_json(report_schema() if of == "report" else comparison_schema()), nl=False)
