"""``kprof check``: gates alone, on a report that exists already. Needs no torch and no GPU, and starts fast."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click
import msgspec

from kprof.commands.delivery import format_for, put
from kprof.commands.gate_options import GateRequest, gate_options, say_gates_failed, subject
from kprof.errors import CannotMeasureError, InputFileError, UsageError, error_lines
from kprof.exit_codes import NO_HEADLINE, FaultHead, measured_exit_code
from kprof.files import require_outputs
from kprof.gates.paths import part
from kprof.gates.plausible import wrong_result
from kprof.renderers import FORMATS, gate_markdown, gate_table
from kprof.renderers.json import render_json
from kprof.renderers.layout import Style
from kprof.report_json import decode_json, name_of, read_bytes

_FILE: Final = click.Path(path_type=Path)
_CHECKED_FORMATS: Final = {name: FORMATS[name] for name in ("json", "text", "markdown")}
"""json: the report with its verdicts; else the verdicts alone."""


@click.command("check")
@click.argument("report", type=click.Path(path_type=Path, allow_dash=True))
@gate_options
@click.option(
    "--format",
    "format_",
    type=click.Choice(list(_CHECKED_FORMATS)),
    help="json: the report with its verdicts; else the verdicts alone. Not given: what the name of -o FILE says, else "
    "json.",
)
@click.option("-o", "--output", type=_FILE, help="Write to this file instead of stdout.")
@click.option("-q", "--quiet", is_flag=True, help="No table on stderr.")
@click.pass_context
def command(
    ctx: click.Context, /, report: Path, format_: str | None, output: Path | None, quiet: bool, **options: Any
) -> None:
    """Hold a report against thresholds and a baseline.

    REPORT is what kprof analyze or kprof import wrote as JSON; - is stdin. Exit codes: 0 no gate failed, 1 one did or
    the result is wrong, 2 usage, 3 the report holds no measurement, 4 a gate was inconclusive.
    """
    request = GateRequest(**options)
    if not request.asked:
        raise UsageError("there is no gate to judge by", "Give --thresholds t.yaml, or --baseline report.json.")
    require_outputs((output, *request.outputs), (report, *request.inputs))
    chosen = format_for(format_, output, "json", _CHECKED_FORMATS)
    data = read_bytes(report)
    plain = decode_json(data, name_of(report), allow_nan=True)
    _require_faults(plain, name_of(report))
    gates = request.load()
    verdicts = gates.judge(plain)
    if chosen == "json":
        rendered = render_json({**plain, "gates": msgspec.to_builtins(verdicts)})
    elif chosen == "markdown":
        rendered = gate_markdown.render(verdicts, f"kprof {subject(plain)}")
    else:
        rendered = gate_table.render(verdicts)
    put(rendered, output, as_text=chosen == "text")
    gates.tell(plain, verdicts, quiet=quiet or (chosen == "text" and output is None))
    measured = _measured(plain)
    code = gates.finish(plain, verdicts, data, measured)
    if measured in (UsageError.exit_code, CannotMeasureError.exit_code):
        _say_fault(plain)
    elif code != 0:
        say_gates_failed(verdicts)
    ctx.exit(code)


def _require_faults(report: dict[str, Any], source: str) -> None:
    """What went wrong can be read: a report whose faults cannot be would pass for one that has none."""
    listed = report.get("faults", [])
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise InputFileError(f"{source}: faults is no list of objects", "Make the report again.")


def _faults(report: dict[str, Any]) -> list[dict[str, Any]]:
    listed = report.get("faults")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _say_fault(report: dict[str, Any]) -> None:
    reason = part(report, "blocks", "timing", "reason")
    no_time = {"stage": "timing", **reason} if part(reason, "code") == NO_HEADLINE else None
    first, style = no_time or _faults(report)[0], Style()
    message = style.clean(f"the report is of a run that failed: {first.get('stage')}: {first.get('message')}")
    click.echo(error_lines(message, style.clean(str(first.get("hint") or ""))), err=True)


def _measured(report: dict[str, Any]) -> int:
    heads = [FaultHead(str(one.get("code")), str(one.get("stage")), one.get("side")) for one in _faults(report)]
    code = part(report, "blocks", "timing", "reason", "code")
    return measured_exit_code(heads, is_wrong=wrong_result(report) is not None, timing_code=code)
