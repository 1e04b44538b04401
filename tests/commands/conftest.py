"""A folder for ``kprof check`` to run in, and its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gate_reports import recorded
from gate_runs import PASSING, Ran, put

from kprof import cli


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a report, its baseline and thresholds, outside GitHub Actions."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("r.json", "b.json"):
        put(name, recorded())
    Path("t.yaml").write_text(PASSING)
    return tmp_path


@pytest.fixture
def check(folder: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> Ran:
        code = cli.run(["check", *arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Ran(code, out, err)

    return run
