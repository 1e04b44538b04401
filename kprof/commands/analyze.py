"""``kprof analyze``: measure a kernel against its reference, or make the report again from a capture."""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Final, Literal

import click

from kprof.capture import Capture, encode_capture, load_capture
from kprof.collection import Plan, collect
from kprof.errors import CannotMeasureError, UsageError, error_lines
from kprof.files import require_writable, write_whole
from kprof.progress import following
from kprof.renderers import json as json_renderer
from kprof.renderers import text as text_renderer
from kprof.report import Blocks, Report, build_report, exit_code
from kprof.worker.supervisor import Limits

_FILE: Final = click.Path(path_type=Path)
_Value = int | float | bool | str


@click.command("analyze")
@click.argument("kernel", type=_FILE, required=False)
@click.option("--ref", type=_FILE, help="Reference file: Model, get_inputs(), get_init_inputs().")
@click.option("--capture", "capture_file", type=_FILE, help="Make the report again from this capture; nothing runs.")
@click.option("--save-capture", type=_FILE, help="Keep all evidence of the run in this file.")
@click.option("--format", "format_", type=click.Choice(["json", "text"]), default="json", show_default=True)
@click.option("-o", "--output", type=_FILE, help="Write the report here instead of stdout.")
@click.option("-q", "--quiet", is_flag=True, help="No summary and no progress on stderr.")
@click.option("--device", default="auto", show_default=True, metavar="auto|cpu|cuda:N")
@click.option("--entry", default="ModelNew", show_default=True, help="Class or function of the kernel file to measure.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Set a module constant of the reference.")
@click.option("--blocks", metavar="NAME,...", help="Measure only these blocks.")
@click.option("--ref-mode", type=click.Choice(["eager", "compile"]), default="eager", show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--trials", type=click.IntRange(1), default=5, show_default=True, help="Comparisons with fresh values.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Timing processes in all.")
@click.option("--allow-nonfinite", is_flag=True, help="Let NaN and infinities at equal places count as equal.")
@click.option("--timeout", type=click.FloatRange(1), default=300, show_default=True, help="Seconds for each stage.")
@click.option("--build-timeout", type=click.FloatRange(1), default=600, show_default=True, help="Seconds a build.")
@click.pass_context
def command(
    ctx: click.Context,
    kernel: Path | None,
    ref: Path | None,
    capture_file: Path | None,
    save_capture: Path | None,
    format_: str,
    output: Path | None,
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
    timeout: float,
    build_timeout: float,
) -> None:
    """Measure a kernel against its reference.

    JSON goes to stdout, a summary and progress to stderr. Exit codes: 0 measured, 1 the result is wrong, 2 usage,
    3 could not measure.
    """
    for path in filter(None, (output, save_capture)):
        require_writable(path)
    if (kernel is None) == (capture_file is None):
        raise UsageError("give a kernel file, or --capture FILE, and not both", "kprof analyze kernel.py --ref ref.py")
    if capture_file is not None:
        report = build_report(load_capture(capture_file), source="replayed")
    else:
        assert kernel is not None
        plan = Plan(
            kernel_file=_existing(kernel),
            ref_file=_existing(ref) if ref is not None else None,
            blocks=_blocks(blocks),
            entry=entry,
            overrides=dict(_assignment(text) for text in sets),
            device=device,
            seed=seed,
            trials=trials,
            repeats=repeats,
            ref_mode=ref_mode,
            allow_nonfinite=allow_nonfinite,
            limits=Limits(stage_s=timeout, build_s=build_timeout),
            command=("kprof", *sys.argv[1:]),
        )
        report = build_report(_measure(plan, save_capture, quiet))
    _deliver(report, format_, output, quiet)
    code = exit_code(report)
    if code in (UsageError.exit_code, CannotMeasureError.exit_code) and report.faults:
        click.echo(error_lines(report.faults[0].message, report.faults[0].hint), err=True)
    ctx.exit(code)


def _measure(plan: Plan, save_capture: Path | None, quiet: bool) -> Capture:
    if importlib.util.find_spec("torch") is None:
        raise CannotMeasureError(
            "torch_missing", "torch is not installed", "pip install torch; reports and captures can be read without."
        )
    with following(quiet) as progress:
        capture = collect(plan, progress.on_update)
    if save_capture is not None:
        write_whole(save_capture, encode_capture(capture))
    return capture


def _deliver(report: Report, format_: str, output: Path | None, quiet: bool) -> None:
    rendered = json_renderer.render(report) if format_ == "json" else _text(report, sys.stdout.isatty(), sys.stdout)
    if output is not None:
        write_whole(output, rendered.encode())
    else:
        click.echo(rendered, nl=not rendered.endswith("\n"))
    if not quiet and not (format_ == "text" and output is None):
        click.echo(_text(report, sys.stderr.isatty(), sys.stderr), err=True)


def _text(report: Report, on_terminal: bool, stream: object) -> str:
    encoding = (getattr(stream, "encoding", None) or "ascii").lower()
    return text_renderer.render(
        report,
        width=max(60, min(120, shutil.get_terminal_size((80, 24)).columns)) if on_terminal else 80,
        color=on_terminal and not os.environ.get("NO_COLOR"),
        ascii_only=not encoding.replace("-", "").startswith("utf"),
    )


def _existing(path: Path) -> Path:
    if not path.is_file():
        found = "is a folder" if path.is_dir() else "does not exist"
        raise UsageError(f"{path} {found}; a Python file was expected", "Check the path.")
    return path


def _blocks(text: str | None) -> tuple[str, ...]:
    known = Blocks.__struct_fields__
    if text is None:
        return known
    asked = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in asked if name not in known]
    if unknown or not asked:
        raise UsageError(f"--blocks {text}: no block {', '.join(unknown) or 'named'}", f"Blocks: {', '.join(known)}")
    return asked


def _assignment(text: str) -> tuple[str, _Value]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise UsageError(f"--set {text}: NAME=VALUE was expected", "For example --set R=8")
    return name.strip(), _value(value.strip())


def _value(text: str) -> _Value:
    """A number, true or false, else the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, (int, float, str)) else text
