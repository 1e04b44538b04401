"""``kprof doctor --selftest``: kprof's numbers held against probes of known work, on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from kprof.cache import cache_dir
from kprof.commands.delivery import style_for
from kprof.errors import UsageError
from kprof.files import require_outputs
from kprof.progress import say_waiting
from kprof.renderers.json import render_json
from kprof.renderers.selftest import render_selftest
from kprof.selftest.run import run_selftest

MISSED: Final = 1
"""Exit code where some number is not what it must be."""


def selftest(device: str, ncu: str | None, as_json: bool, keep_report: Path | None, lock_timeout_s: float) -> int:
    """Run it and print it; returns the exit code.

    Args:
        device: ``auto`` or ``cuda:N``.
        ncu: the program; None: the first ``ncu`` on PATH.
        as_json: every row, instead of the table.
        keep_report: where a copy of ncu's report is kept.
        lock_timeout_s: how long to wait for other runs on the same GPU.

    Raises:
        UsageError: ``device`` is the processor.
        CannotMeasureError: it cannot run here.
    """
    if device == "cpu":
        raise UsageError("--selftest runs CUDA kernels; --device cpu was given", "Leave --device out, or give cuda:N.")
    require_outputs((keep_report,), ())
    result = run_selftest(
        cache_dir(),
        ncu=ncu,
        device=int(device.removeprefix("cuda:")) if device.startswith("cuda:") else 0,
        keep_report=keep_report,
        on_step=lambda step: click.echo(f"kprof: {step} probes", err=True),
        on_wait=say_waiting,
        lock_timeout_s=lock_timeout_s,
    )
    click.echo(render_json(result) if as_json else render_selftest(result, style_for(sys.stdout)), nl=False)
    return 0 if result.passed else MISSED
