"""``docs/ci.md``: its workflow, its hook and its thresholds are read, and their commands run on a recorded report."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import gate_reports
import pytest
import yaml
from gate_reports import FILES, H200, recorded, slowed

from kprof.gates.paths import parse_path
from kprof.renderers.json import render_json

REPO = Path(__file__).resolve().parents[2]
TEXT = (REPO / "docs" / "ci.md").read_text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
SHELL = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
# Stands in for kprof: what would be measured here is made from a recorded capture; all else is the real command.
SHIM = """#!{python}
import os, sys
arguments = sys.argv[1:]
if arguments[0] == "analyze":
    kept = []
    rest = iter(arguments[1:])
    for one in rest:
        if one in ("--ref", "--repeats", "--save-capture", "--blocks"):
            next(rest)
        elif one != "kernel.py":
            kept.append(one)
    arguments = ["analyze", "--capture", {capture!r}, *kept]
os.execv(sys.executable, [sys.executable, "-m", "kprof", *arguments])
"""


def block(start: str) -> str:
    (found,) = [one for one in BLOCKS if one.startswith(start)]
    return found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with thresholds, no folder of baselines, and a ``kprof`` that measures nothing."""
    (tmp_path / "bin").mkdir()
    shim = tmp_path / "bin" / "kprof"
    shim.write_text(SHIM.format(python=sys.executable, capture=str(H200 / f"{FILES['medium']}.json")))
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "thresholds.yaml").write_text(block("thresholds:"))
    return tmp_path


def run_shell(checkout: Path, script: str) -> subprocess.CompletedProcess[str]:
    """As GitHub runs a step: bash, stopping at the first failure."""
    path = f"{checkout / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(REPO), "GITHUB_ACTIONS": "true"}
    env["GITHUB_STEP_SUMMARY"] = str(checkout / "summary.md")
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True, check=False)


def workflow_steps() -> dict[str, Any]:
    workflow = yaml.load(block("name: kprof"), Loader=yaml.BaseLoader)
    assert set(workflow) == {"name", "on", "jobs"}
    steps = workflow["jobs"]["gate"]["steps"]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    return {step["name"]: step for step in steps if "run" in step}


ON_MAIN = "Gate main and keep its baseline"


@pytest.mark.parametrize("folder", ["missing", "empty"])
def test_the_workflow_runs_from_no_baseline_to_a_caught_regression(checkout: Path, folder: str) -> None:
    if folder == "empty":
        (checkout / "baselines").mkdir()
    steps = workflow_steps()
    measured = run_shell(checkout, steps["Measure"]["run"])
    assert measured.returncode == 0, measured.stderr
    first = run_shell(checkout, steps["Gate"]["run"])
    assert (first.returncode, "--update-baseline makes it" in first.stderr) == (4, True)
    kept = run_shell(checkout, steps[ON_MAIN]["run"])
    assert kept.returncode == 0, kept.stderr
    assert [one.name for one in (checkout / "baselines").iterdir()] == ["nvidia-h200.json"]
    passing = run_shell(checkout, steps["Gate"]["run"])
    assert passing.returncode == 0, passing.stderr
    assert {one["verdict"] for one in json.loads((checkout / "checked.json").read_text())["gates"]} == {"pass"}
    assert (checkout / "kprof.xml").exists()
    (checkout / "report.json").write_text(render_json(slowed(recorded(), 1.2)))
    failing = run_shell(checkout, steps["Gate"]["run"])
    assert failing.returncode == 1
    assert "::error " in failing.stderr
    assert "**FAIL**" in (checkout / "summary.md").read_text()
    assert run_shell(checkout, steps[ON_MAIN]["run"]).returncode == 1


def test_the_gate_is_judged_whatever_the_measurement_ended_with_and_once() -> None:
    steps = workflow_steps()
    main = "github.ref == 'refs/heads/main'"
    assert steps["Gate"]["if"] == f"(success() || failure()) && {main.replace('==', '!=')}"
    assert steps[ON_MAIN]["if"] == f"(success() || failure()) && {main}"


def test_the_baseline_that_main_keeps_is_what_later_runs_get() -> None:
    used = [step for step in yaml.safe_load(block("name: kprof"))["jobs"]["gate"]["steps"] if "uses" in step]
    restored, saved = (step["with"] for step in used if "/cache/" in step["uses"])
    assert restored["path"] == saved["path"] == "baselines"
    assert restored["key"] == saved["key"]
    assert saved["key"].startswith(restored["restore-keys"])


def test_artifacts_are_what_the_steps_write() -> None:
    workflow = yaml.safe_load(block("name: kprof"))
    (uploaded,) = [step for step in workflow["jobs"]["gate"]["steps"] if "upload-artifact" in step.get("uses", "")]
    commands = " ".join(step["run"] for step in workflow_steps().values())
    for name in uploaded["with"]["path"].split():
        assert name.rstrip("/") in commands


def test_the_hook_runs(checkout: Path) -> None:
    (hook,) = yaml.safe_load(block("repos:"))["repos"][0]["hooks"]
    assert re.search(hook["files"], "kernel.py")
    assert not re.search(hook["files"], "kernel.pyc")
    refused = run_shell(checkout, hook["entry"])
    assert (refused.returncode, "--update-baseline makes it" in refused.stderr) == (4, True)
    (made,) = [one for one in SHELL if "--update-baseline" in one]
    assert run_shell(checkout, made).returncode == 0
    done = run_shell(checkout, hook["entry"])
    assert done.returncode == 0, done.stderr


def test_the_thresholds_shown_are_a_thresholds_file() -> None:
    plan = gate_reports.plan(block("thresholds:"))
    assert (len(plan.thresholds), len(plan.regressions)) == (4, 2)


@pytest.mark.parametrize("code", sorted(set(re.findall(r"`([a-z]+\.[a-z_.\[\]0-9]+)`", TEXT)) - {"report.json"}))
def test_every_path_it_names_exists(code: str) -> None:
    if not code.endswith((".json", ".py", ".yaml", ".md", ".yml")):
        parse_path(code.replace("kernels[]", "kernels[NAME]"))
