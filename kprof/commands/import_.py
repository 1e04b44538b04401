"""``kprof import``: the counter blocks of a report that exists already, with no GPU, no ncu and no torch."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from kprof.capture import encode_capture
from kprof.commands.analyze_arguments import command_line, require_pattern
from kprof.commands.delivery import deliver, format_for, require_place
from kprof.commands.measured_roofs import read_ceilings, require_ceilings, with_ceilings
from kprof.commands.report_options import FILE, ceilings_option, format_option, html_option, output_option, roof_option
from kprof.files import require_outputs, write_whole
from kprof.gpuspec import resolve_gpu
from kprof.importing import import_capture
from kprof.report import build_report
from kprof.roofline import RoofChoice


@click.command("import")
@click.argument("file", type=FILE)
@click.option("--kernel", metavar="REGEX", help="Only launches in whose name this is found.")
@click.option("--gpu", metavar="NAME|SPEC.yaml", help="The board, instead of what the report says.")
@roof_option
@ceilings_option
@click.option("--save-capture", type=FILE, help="Keep what was read in this file.")
@format_option
@output_option
@html_option
@click.option("-q", "--quiet", is_flag=True, help="No summary on stderr.")
def command(
    file: Path,
    kernel: str | None,
    gpu: str | None,
    roof: RoofChoice,
    ceilings_file: Path | None,
    save_capture: Path | None,
    format_: str | None,
    output: Path | None,
    html: Path | None,
    quiet: bool,
) -> None:
    """Read a report of Nsight Compute: a .ncu-rep, or the CSV of its raw or details page.

    JSON goes to stdout, a summary to stderr. Exit code 0 when it was read, however few counters it holds.
    """
    require_outputs((output, html, save_capture), (file, ceilings_file))
    chosen = format_for(format_, output, "json")
    require_place(chosen, output)
    board = resolve_gpu(gpu) if gpu is not None else None
    ceilings = read_ceilings(ceilings_file)
    # Records of thousands of launches and no cycles among them: looking for some would take a fifth of the time.
    gc.disable()
    capture = with_ceilings(import_capture(file, require_pattern(kernel), command_line()), ceilings)
    require_ceilings(capture, roof)
    if save_capture is not None:
        write_whole(save_capture, encode_capture(capture))
    deliver(build_report(capture, source="imported", gpu=board, roof=roof), chosen, output, quiet, html)
