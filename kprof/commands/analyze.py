"""``kprof analyze``: measure a kernel against its reference, or make the report again from a capture."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Final, Literal

import click
import msgspec

from kprof.blocks.integrity.block import failed_reason
from kprof.blocks.precision_records import PrecisionBlock
from kprof.capture import Capture, encode_capture, load_capture
from kprof.ceilings_evidence import CeilingsEvidence
from kprof.collection import Plan, collect
from kprof.commands.analyze_arguments import (
    Seconds,
    assignment,
    block_names,
    command_line,
    device_name,
    lock_timeout_option,
    require_one_source,
    require_pattern,
    require_surroundings,
    require_utf8,
    sanitizer_tools,
    source_file,
)
from kprof.commands.delivery import deliver, format_for, require_place
from kprof.commands.gate_options import GateRequest, Gates, gate_options, say_gates_failed
from kprof.commands.measured_roofs import read_ceilings, require_ceilings, with_ceilings
from kprof.commands.report_options import FILE, ceilings_option, format_option, html_option, output_option, roof_option
from kprof.counter_collection.options import CounterOptions
from kprof.errors import CannotMeasureError, KprofError, UsageError, error_lines
from kprof.exit_codes import NO_HEADLINE
from kprof.files import require_outputs, write_whole
from kprof.gpuspec import resolve_gpu
from kprof.precision_evidence import INCONCLUSIVE_CODES
from kprof.progress import following
from kprof.renderers.json import render_json
from kprof.renderers.layout import Style
from kprof.report import Report, build_report, exit_code
from kprof.roofline import RoofChoice
from kprof.worker.supervisor import Limits

_WRONG: Final = 1
_WRONG_HINT: Final = "blocks.precision of the report has every mismatch and the worst element."


@click.command("analyze")
@click.argument("kernel", type=FILE, required=False)
@click.option("--ref", type=FILE, help="Reference file: Model, get_inputs(), get_init_inputs().")
@click.option("--capture", "capture_file", type=FILE, help="Make the report again from this capture; nothing runs.")
@click.option("--save-capture", type=FILE, help="Keep all evidence of the run in this file.")
@format_option
@output_option
@html_option
@click.option("-q", "--quiet", is_flag=True, help="No summary and no progress on stderr.")
@click.option(
    "--device",
    default="auto",
    show_default=True,
    metavar="auto|cpu|cuda:N",
    help="Where to measure; auto: the GPU, if any.",
)
@click.option("--entry", default="ModelNew", show_default=True, help="Class or function of the kernel file to measure.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Set a module constant of the reference.")
@click.option("--blocks", metavar="NAME,...", help="Measure only these blocks.")
@click.option(
    "--ref-mode",
    type=click.Choice(["eager", "compile"]),
    default="eager",
    show_default=True,
    help="Time the reference through torch.compile, or not.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Of inputs and weights.")
@click.option(
    "--trials", type=click.IntRange(1, 10_000), default=5, show_default=True, help="Comparisons on fresh values."
)
@click.option("--repeats", type=click.IntRange(1, 100), default=1, show_default=True, help="Timing processes in all.")
@click.option("--allow-nonfinite", is_flag=True, help="Let NaN and infinities at equal places count as equal.")
@click.option("--gpu", metavar="NAME|SPEC.yaml", help="The board, instead of what the driver says it is.")
@roof_option
@ceilings_option
@click.option("--ncu", metavar="PATH", help="Nsight Compute's command line, instead of the ncu on PATH.")
@click.option("--kernel", "kernel_filter", metavar="REGEX", help="Profile only kernels in whose name this is found.")
@click.option("--max-launches", type=click.IntRange(1, 10_000), default=32, show_default=True, help="Profiled a side.")
@click.option(
    "--counters",
    type=click.Choice(["default", "full"]),
    default="default",
    show_default=True,
    help="full: also the set `full` of ncu.",
)
@click.option(
    "--cache-control",
    type=click.Choice(["all", "none"]),
    default="all",
    show_default=True,
    help="As of ncu: empty caches before each replay.",
)
@click.option(
    "--clock-control",
    type=click.Choice(["none", "base"]),
    default="none",
    show_default=True,
    help="As of ncu: base locks the clocks.",
)
@click.option(
    "--sanitize", metavar="TOOL,...", help="Run these tools of compute-sanitizer too: memcheck, racecheck, initcheck."
)
@click.option("--keep-ncu-report", type=FILE, help="Keep the .ncu-rep in this file.")
@click.option("--timeout", type=Seconds(), default=300, show_default=True, help="Seconds for each stage.")
@click.option("--build-timeout", type=Seconds(), default=600, show_default=True, help="Seconds a build.")
@lock_timeout_option
@gate_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    kernel: Path | None,
    ref: Path | None,
    capture_file: Path | None,
    save_capture: Path | None,
    format_: str | None,
    output: Path | None,
    html: Path | None,
    quiet: bool,
    device: str,
    entry: str,
    sets: tuple[str, ...],
    blocks: str | None,
    ref_mode: Literal["eager", "compile"],
    seed: int,
    trials: int,
    repeats: int,
    allow_nonfinite: bool,
    gpu: str | None,
    roof: RoofChoice,
    ceilings_file: Path | None,
    ncu: str | None,
    kernel_filter: str | None,
    max_launches: int,
    counters: Literal["default", "full"],
    cache_control: Literal["all", "none"],
    clock_control: Literal["none", "base"],
    sanitize: str | None,
    keep_ncu_report: Path | None,
    timeout: float,
    build_timeout: float,
    lock_timeout: float,
    **gate_settings: Any,
) -> None:
    """Measure a kernel against its reference.

    JSON goes to stdout, a summary and progress to stderr. Exit codes: 0 measured, 1 the result is wrong, the kernel
    did not do its work or a check failed, 2 usage, 3 could not measure, 4 a gate was inconclusive.
    """
    require_one_source(ctx, kernel, capture_file)
    request = GateRequest(**gate_settings)
    outputs = (output, html, save_capture, keep_ncu_report, *request.outputs)
    require_outputs(outputs, (kernel, ref, capture_file, ceilings_file, *request.inputs))
    chosen = format_for(format_, output, "json")
    require_place(chosen, output)
    require_pattern(kernel_filter)
    board = resolve_gpu(gpu) if gpu is not None else None
    ceilings = read_ceilings(ceilings_file)
    gates = request.load()
    if capture_file is not None:
        capture = with_ceilings(load_capture(capture_file), ceilings)
        require_ceilings(capture, roof)
        report = build_report(capture, source="replayed", gpu=board, roof=roof)
    else:
        assert kernel is not None
        require_utf8(entry, "--entry")
        asked, tools = block_names(blocks), sanitizer_tools(sanitize)
        plan = Plan(
            kernel_file=source_file(kernel),
            ref_file=source_file(ref) if ref is not None else None,
            blocks=(*asked, *(("integrity",) if tools and "integrity" not in asked else ())),
            entry=entry,
            overrides=dict(assignment(text) for text in sets),
            device=device_name(device),
            seed=seed,
            trials=trials,
            repeats=repeats,
            ref_mode=ref_mode,
            allow_nonfinite=allow_nonfinite,
            limits=Limits(stage_s=timeout, build_s=build_timeout),
            command=command_line(),
            counter_options=CounterOptions(
                ncu=ncu,
                counters=counters,
                max_launches=max_launches,
                kernel_filter=kernel_filter,
                cache_control=cache_control,
                clock_control=clock_control,
                keep_report=keep_ncu_report,
            ),
            sanitize=tools,
            lock_timeout_s=lock_timeout,
        )
        require_surroundings()
        capture = _measure(plan, ceilings, quiet)
        report = build_report(capture, gpu=board, roof=roof)
    try:
        code = _deliver_judged(report, gates, chosen, output, quiet, html)
    finally:
        # What was measured is kept, whatever became of the other files.
        if save_capture is not None:
            write_whole(save_capture, encode_capture(capture))
    ctx.exit(code)


def _deliver_judged(
    report: Report, gates: Gates, format_: str, output: Path | None, quiet: bool, html: Path | None
) -> int:
    """Write the report, its verdicts in it where there are gates; returns the exit code."""
    measured = exit_code(report)
    # As it would be read from its file: a gate says the same here and there.
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(report)) if gates.request.asked else {}
    try:
        verdicts = gates.judge(plain) if gates.request.asked else ()
    except KprofError:
        deliver(report, format_, output, quiet, html)  # what was measured is not lost with the folder of baselines
        raise
    deliver(msgspec.structs.replace(report, gates=verdicts), format_, output, quiet, html)
    code = measured
    if gates.request.asked:
        gates.tell(plain, verdicts, quiet=quiet)
        code = gates.finish(plain, verdicts, render_json(report).encode(), measured)
    if measured != 0:
        _say_why(report, measured)
    elif code != 0:
        say_gates_failed(verdicts)
    return code


def _measure(plan: Plan, ceilings: CeilingsEvidence | None, quiet: bool) -> Capture:
    if importlib.util.find_spec("torch") is None:
        raise CannotMeasureError(
            "torch_missing", "torch is not installed", "pip install torch; reports and captures can be read without."
        )
    with following(quiet) as progress:
        capture = collect(plan, progress.on_update, progress.on_wait)
    try:
        return with_ceilings(capture, ceilings)
    except UsageError as error:  # What was measured stays; the report says that it has no measured roofs.
        click.echo(error_lines(error.message, error.hint), err=True)
        return capture


def _say_why(report: Report, code: int) -> None:
    """One line and one hint, also where the summary is silenced."""
    reason = report.blocks.timing.reason
    no_time = reason if code != _WRONG and reason is not None and reason.code == NO_HEADLINE else None
    fault = no_time or (report.faults[0] if report.faults and code != _WRONG else None)
    message, hint = (fault.message, fault.hint) if fault else _what_failed(report)
    style = Style()  # user code may have written part of the message: one line, no escapes
    click.echo(error_lines(style.clean(message), style.clean(hint)), err=True)


def _what_failed(report: Report) -> tuple[str, str]:
    doubt = failed_reason(report.blocks.integrity)
    if doubt is not None and report.blocks.precision.passed is not False:
        return doubt.message, doubt.hint
    return _how_wrong(report.blocks.precision), _WRONG_HINT


def _how_wrong(block: PrecisionBlock) -> str:
    unlike = [mismatch for mismatch in block.mismatches if mismatch.code not in INCONCLUSIVE_CODES]
    how = f"{unlike[0].where}: {unlike[0].message}" if unlike else "it is not the reference's"
    return f"the result is wrong: {how} ({block.trials_passed} of {block.trials_requested} trials agree)"
