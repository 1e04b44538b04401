"""``kprof schema``: the JSON Schema of a report."""

from __future__ import annotations

import click

from kprof.renderers.json import render_json
from kprof.report import report_schema


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of a report: every field's meaning, unit and source."""
    click.echo(render_json(report_schema()), nl=False)
