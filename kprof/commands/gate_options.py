"""The options of the commands that judge a report, and what is done with the verdicts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from kprof.baselines import board_file, no_board_file, read_baseline, write_baseline
from kprof.commands.delivery import style_for
from kprof.errors import UsageError, error_lines
from kprof.files import write_whole
from kprof.gates.comparability import TOLERABLE
from kprof.gates.judge import first_exit_code, gates_exit_code, judge
from kprof.gates.paths import look_up
from kprof.gates.plan import GatePlan, default_plan, read_plan
from kprof.gates.regressions import NO_BASELINE, Policy
from kprof.renderers import gate_markdown, gate_table, github, junit
from kprof.renderers.layout import Style
from kprof.report_json import STDIN
from kprof.verdicts import Verdict
from kprof.yamlfile import read_yaml

_FILE: Final = click.Path(path_type=Path)
_UPDATE: Final = "--update-baseline"
_C = TypeVar("_C", bound=Callable[..., Any])
_OPTIONS: Final = (
    click.option("--thresholds", type=_FILE, help="Gates to hold the report against: a YAML file."),
    click.option("--baseline", type=_FILE, help="An earlier report, to find regressions against."),
    click.option("--baseline-dir", type=_FILE, help="A folder of baselines, of which the board's own is taken."),
    click.option(_UPDATE, is_flag=True, help="Make this report the baseline, if all gates pass."),
    click.option("--junit", type=_FILE, help="Write the verdicts to this file, as JUnit XML."),
    click.option("--inconclusive-ok", is_flag=True, help="An inconclusive gate does not change the exit code."),
    click.option("--require-power", is_flag=True, help="What could not have been seen is inconclusive, no pass."),
    click.option(
        "--ignore-difference",
        multiple=True,
        type=click.Choice(TOLERABLE),
        metavar="NAME",
        help="Compare with a baseline in spite of this difference, such as driver.",
    ),
)


def gate_options(command: _C) -> _C:
    """Adds the options; the command gets them under their own names, for `GateRequest`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, kw_only=True)
class GateRequest:
    """What the options say. `load` reads the files before anything is measured."""

    thresholds: Path | None
    baseline: Path | None
    baseline_dir: Path | None
    update_baseline: bool
    junit: Path | None
    inconclusive_ok: bool
    require_power: bool
    ignore_difference: tuple[str, ...]

    @property
    def asked(self) -> bool:
        """There is something to judge by."""
        return any(one is not None for one in (self.thresholds, self.baseline, self.baseline_dir))

    @property
    def inputs(self) -> tuple[Path | None, ...]:
        return self.thresholds, None if self.update_baseline else self.baseline

    @property
    def outputs(self) -> tuple[Path | None, ...]:
        return self.junit, self.baseline if self.update_baseline else None

    def load(self) -> Gates:
        """The gates and, where one file is named, the baseline.

        Raises:
            UsageError: options that do not go together, or a file that is missing or malformed.
        """
        if self.baseline is not None and self.baseline_dir is not None:
            raise UsageError("found both --baseline and --baseline-dir, expected one of the two", "Leave one out.")
        if self.update_baseline and self.baseline is None and self.baseline_dir is None:
            raise UsageError(f"{_UPDATE} does not say which file", "Give --baseline FILE or --baseline-dir DIR.")
        if self.update_baseline and self.baseline == STDIN:
            raise UsageError(f"{_UPDATE} cannot write to stdin", "Give --baseline a file.")
        needs_gates = any((self.junit, self.inconclusive_ok, self.require_power, self.ignore_difference))
        if not self.asked and needs_gates:
            raise UsageError("there is no gate to judge by", "Give --thresholds t.yaml, or --baseline report.json.")
        return Gates(self, self._plan(), self._read(self.baseline))

    def _plan(self) -> GatePlan:
        if self.thresholds is None:
            return default_plan()
        compared = self.baseline is not None or self.baseline_dir is not None
        return read_plan(read_yaml(self.thresholds), compared=compared)

    def _read(self, path: Path | None) -> dict[str, Any] | None:
        """None where there is none yet, and this run is to make it."""
        if path is None or (self.update_baseline and not path.exists()):
            return None
        return read_baseline(path)


GATE_SETTINGS: Final = frozenset(one.name for one in fields(GateRequest))
"""Names of the options' values, as click gives them."""


@dataclass(frozen=True)
class Gates:
    """The gates of one run of the command."""

    request: GateRequest
    plan: GatePlan
    baseline: dict[str, Any] | None

    def judge(self, report: dict[str, Any]) -> tuple[Verdict, ...]:
        """The verdicts on a report, as plain values.

        Raises:
            UsageError: the report does not name its board, or what the folder has for it is no baseline.
        """
        baseline, plan, missing = self.baseline, self.plan, NO_BASELINE
        path = self._baseline_file(report)
        if baseline is None and path is not None and self.request.baseline_dir is not None:
            absent = no_board_file(path)
            missing = absent or missing
            baseline = self.request._read(path) if absent is None else None
        if baseline is None and self.request.update_baseline:
            plan = GatePlan(thresholds=plan.thresholds)  # the first of its kind: there is nothing to compare with
        request = self.request
        policy = Policy(require_power=request.require_power, ignored=request.ignore_difference, missing=missing)
        return judge(plan, report, baseline, policy)

    def tell(self, report: dict[str, Any], verdicts: Sequence[Verdict], *, quiet: bool) -> None:
        """The table on stderr, the JUnit file, and what GitHub Actions shows."""
        allowed = self.request.inconclusive_ok
        if not quiet:
            style = style_for(sys.stderr)
            table = gate_table.render(verdicts, width=style.width, color=style.color, ascii_only=style.ascii_only)
            click.echo(table, err=True, nl=False)
        name = subject(report)
        if self.request.junit is not None:
            created = str(report.get("created") or "")
            xml = junit.render(verdicts, suite=f"kprof {name}", created=created, inconclusive_ok=allowed)
            write_whole(self.request.junit, xml)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            click.echo(github.render(verdicts, _kernel_file(report), inconclusive_ok=allowed), err=True, nl=False)
            _add_to_summary(gate_markdown.render(verdicts, f"kprof {name}"))

    def finish(self, report: dict[str, Any], verdicts: Sequence[Verdict], data: bytes, measured: int) -> int:
        """The exit code, and the new baseline where one was asked for.

        Args:
            report: what was judged.
            verdicts: on it.
            data: the report's JSON, as a baseline is to hold it.
            measured: the exit code that the report alone asks for.
        """
        of_gates = gates_exit_code(verdicts, inconclusive_ok=self.request.inconclusive_ok)
        path = self._baseline_file(report) if self.request.update_baseline else None
        if path is not None:
            why_not = _no_baseline_because(report, verdicts, measured) or self._not_held_against(report)
            if why_not:
                click.echo(error_lines(f"{path} was not updated: {why_not}", _UPDATE_HINT), err=True)
            else:
                write_baseline(path, data)
                click.echo(f"kprof: {path} is the baseline now", err=True)
        return first_exit_code((measured, of_gates))

    def _not_held_against(self, report: dict[str, Any]) -> str:
        """Why later reports could not be held against this one; empty: they can."""
        found = ((gate.path.text, one) for gate in self.plan.regressions for one in look_up(report, gate.path))
        return next((f"{path}: {one.problem}" for path, one in found if one.value is None or one.code), "")

    def _baseline_file(self, report: dict[str, Any]) -> Path | None:
        folder = self.request.baseline_dir
        return board_file(folder, report) if folder is not None else self.request.baseline


_UPDATE_HINT: Final = "Only a passing report becomes a baseline. To start anew, remove the old one first."


def _no_baseline_because(report: dict[str, Any], verdicts: Sequence[Verdict], measured: int) -> str:
    bad = next((one for one in verdicts if one.verdict in ("fail", "inconclusive")), None)
    if measured != 0:
        return f"the report itself ends with exit code {measured}"
    if bad is not None:
        return f"{bad.expression}: {bad.verdict}, {bad.message}"
    blocks = report.get("blocks")
    precision = blocks.get("precision") if isinstance(blocks, dict) else None
    checked = isinstance(precision, dict) and precision.get("passed") is True
    if not checked and report.get("source") != "imported":
        return "the report does not say that the kernel's result is right"
    return ""


def say_gates_failed(verdicts: Sequence[Verdict]) -> None:
    """One line and one hint on the gravest verdict, also where the table is silenced."""
    for word in ("fail", "inconclusive"):
        found = [one for one in verdicts if one.verdict == word]
        if found:
            first, style = found[0], Style()
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            told = "failed" if word == "fail" else "is inconclusive"
            message = style.clean(f"gate {told}: {first.expression}: {first.message}{more}")
            click.echo(error_lines(message, style.clean(first.hint)), err=True)
            return


def subject(report: dict[str, Any]) -> str:
    """What the verdicts are about: the kernel's file."""
    name = _kernel_file(report)
    return Path(name).name if name else "report"


def _kernel_file(report: dict[str, Any]) -> str | None:
    workload = report.get("workload")
    name = workload.get("kernel_file") if isinstance(workload, dict) else None
    return name if isinstance(name, str) else None


def _add_to_summary(markdown: str) -> None:
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as summary:
            summary.write(markdown + "\n")
    except OSError as error:
        # The verdict does not hang on it.
        click.echo(f"kprof: note: cannot write the step summary {path}: {error.strerror}", err=True)
