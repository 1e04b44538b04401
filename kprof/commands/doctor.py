"""``kprof doctor``: what works on this machine, how to mend the rest, and what its hardware really reaches."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec
from click.core import ParameterSource

from kprof.cache import cache_dir
from kprof.ceilings_evidence import CeilingsEvidence, encode_ceilings
from kprof.ceilings_measuring import measure_ceilings
from kprof.commands.analyze_arguments import device_name, lock_timeout_option
from kprof.commands.delivery import style_for
from kprof.commands.report_options import FILE
from kprof.commands.selftest import selftest
from kprof.doctor.diagnosis import diagnose
from kprof.errors import CannotMeasureError, UsageError
from kprof.gpuspec import GpuSpec, load_all_specs, match_spec
from kprof.progress import following_ceilings, say_waiting
from kprof.renderers.ceilings import render_ceilings
from kprof.renderers.doctor import render_diagnosis


@click.command("doctor")
@click.option(
    "--device",
    default="auto",
    show_default=True,
    metavar="auto|cpu|cuda:N",
    help="What to look at; auto: the GPU, if any.",
)
@click.option("--ceilings", is_flag=True, help="Measure the device's roofs instead, and keep them for --roof measured.")
@click.option("--selftest", "test", is_flag=True, help="Hold kprof's numbers against kernels of known work instead.")
@click.option("--ncu", metavar="PATH", help="Nsight Compute's command line, instead of the ncu on PATH.")
@click.option("--keep-ncu-report", type=FILE, help="Keep ncu's report of --selftest here.")
@lock_timeout_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.pass_context
def command(
    ctx: click.Context,
    device: str,
    ceilings: bool,
    test: bool,
    ncu: str | None,
    keep_ncu_report: Path | None,
    lock_timeout: float,
    as_json: bool,
) -> None:
    """Say what works here and how to mend the rest.

    Exit codes: 0 the main job can run in full (on the CPU, where there is no GPU), 3 something is to be mended first.
    Of --selftest: 0 all agree, 1 something does not, 3 it cannot run here.
    """
    asked = device_name(device)
    _require_one_job(ceilings, test, keep_ncu_report)
    if not (ceilings or test) and ctx.get_parameter_source("lock_timeout") is ParameterSource.COMMANDLINE:
        raise UsageError("--lock-timeout: no effect without --ceilings or --selftest", "Add one, or leave it out.")
    if test:
        ctx.exit(selftest(asked, ncu, as_json, keep_ncu_report, lock_timeout))
    if ceilings:
        _ceilings(asked, as_json, lock_timeout)
        return
    diagnosis = diagnose(asked, ncu, cache_dir())
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(diagnosis), indent=2))
    else:
        click.echo(render_diagnosis(diagnosis, style_for(sys.stdout)), nl=False)
    ctx.exit(0 if diagnosis.ready else CannotMeasureError.exit_code)


def _require_one_job(ceilings: bool, test: bool, keep_ncu_report: Path | None) -> None:
    """Either roofs or the self-test, and a report of ncu's only where ncu is what is run.

    Raises:
        UsageError: both, or a file for a report that nothing writes.
    """
    if ceilings and test:
        raise UsageError("found both --ceilings and --selftest, expected one of the two", "Run one after the other.")
    if keep_ncu_report is not None and not test:
        raise UsageError("--keep-ncu-report: no effect without --selftest", "Add --selftest, or leave it out.")


def _ceilings(device: str, as_json: bool, lock_timeout_s: float) -> None:
    """Measure, keep, print."""
    with following_ceilings() as on_update:
        found = measure_ceilings(device, cache_dir(), on_update, say_waiting, lock_timeout_s)
    if as_json:
        click.echo(encode_ceilings(found), nl=False)
    else:
        click.echo(render_ceilings(found, _peaks(found), style_for(sys.stdout)), nl=False)


def _peaks(ceilings: CeilingsEvidence) -> dict[str, float]:
    """The spec's figure of each ceiling, in its unit; empty where the board is not known."""
    spec = match_spec(ceilings.device_name, ceilings.memory_bytes, None, load_all_specs())
    if not ceilings.device.startswith("cuda") or not isinstance(spec, GpuSpec):
        return {}
    dram, on_chip = spec.memory.bandwidth_bytes_per_s, spec.sm_count * spec.sm.l1_bytes_per_clk
    levels = dict.fromkeys(("dram_read", "dram_copy", "dram_triad"), dram)
    levels |= dict.fromkeys(("l1", "shared"), on_chip * spec.max_sm_clock_mhz * 1e6)
    if spec.l2.bandwidth is not None:
        levels["l2"] = spec.l2.bandwidth.read_gbs * 1e9
    return {**levels, **{rate: peak.flop_per_s for rate, peak in spec.rates().items()}}
