"""``kprof schema``."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
from click.testing import CliRunner
from compared_reports import by_hand, compared, fused, naive

import kprof
from kprof.commands.schema import command
from kprof.renderers.json import render_json


def test_it_prints_the_published_schema_and_nothing_else() -> None:
    result = CliRunner().invoke(command)
    assert result.exit_code == 0
    assert result.output == (Path(kprof.__file__).parent / "schema" / "report-v1.json").read_text()
    assert json.loads(result.output)["$id"] == "urn:kprof:report:1"


def test_a_comparison_has_one_too_and_what_compare_writes_is_of_it() -> None:
    result = CliRunner().invoke(command, ["comparison"])
    assert result.output == (Path(kprof.__file__).parent / "schema" / "comparison-v1.json").read_text()
    schema = json.loads(result.output)
    for comparison in (compared(naive(), fused()), compared(by_hand(), by_hand("build_failure"))):
        jsonschema.validate(msgspec.json.decode(render_json(comparison)), schema)


def test_it_takes_no_file() -> None:
    assert CliRunner().invoke(command, ["report.json"]).exit_code == 2
