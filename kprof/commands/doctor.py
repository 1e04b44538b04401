"""``kprof doctor``: what works on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from kprof.commands.analyze_arguments import device_name
from kprof.commands.selftest import selftest
from kprof.errors import UsageError


@click.command("doctor")
@click.option("--device", default="auto", show_default=True, metavar="auto|cuda:N", help="What to look at.")
@click.option("--selftest", "test", is_flag=True, help="Hold kprof's numbers against kernels of known work.")
@click.option("--ncu", metavar="PATH", help="Nsight Compute's command line, instead of the ncu on PATH.")
@click.option("--keep-ncu-report", type=click.Path(path_type=Path), help="Keep ncu's report of --selftest here.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.pass_context
def command(
    ctx: click.Context, device: str, test: bool, ncu: str | None, keep_ncu_report: Path | None, as_json: bool
) -> None:
    """Say what works here and how to mend the rest.

    Exit codes of --selftest: 0 all agree, 1 something does not, 3 it cannot run here.
    """
    if not test:
        raise UsageError("kprof doctor needs --selftest in this version", "kprof doctor --selftest")
    ctx.exit(selftest(device_name(device), ncu, as_json, keep_ncu_report))
