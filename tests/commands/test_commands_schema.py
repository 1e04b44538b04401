"""``kprof schema``."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

import kprof
from kprof.commands.schema import command


def test_it_prints_the_published_schema_and_nothing_else() -> None:
    result = CliRunner().invoke(command)
    assert result.exit_code == 0
    assert result.output == (Path(kprof.__file__).parent / "schema" / "report-v1.json").read_text()
    assert json.loads(result.output)["$id"] == "urn:kprof:report:1"


def test_it_takes_no_arguments() -> None:
    assert CliRunner().invoke(command, ["report.json"]).exit_code == 2
