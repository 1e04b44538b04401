"""``kprof doctor --selftest``: kprof's numbers held against probes of known work, on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from kprof.cache import cache_dir
from kprof.renderers.json import render_json
from kprof.renderers.layout import Style
from kprof.renderers.selftest import render_selftest
from kprof.selftest.run import run_selftest

MISSED = 1
"""Exit code where some number is not what it must be."""


def selftest(style: Style, ncu: str | None, device: int, as_json: bool, keep_report: Path | None) -> int:
    """Run it and print it; returns the exit code.

    Raises:
        CannotMeasureError: it cannot run here.
    """
    result = run_selftest(
        cache_dir(),
        ncu=ncu,
        device=device,
        keep_report=keep_report,
        on_step=lambda step: click.echo(f"kprof: {step} probes", err=True),
    )
    click.echo(render_json(result) if as_json else render_selftest(result, style), nl=False)
    return 0 if result.passed else MISSED
